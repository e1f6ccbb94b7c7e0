/** Runs `work` with these environment variables and without any others that have one of the prefixes. */
export async function withVariables<Result>(
  prefixes: readonly string[],
  variables: Readonly<Record<string, string>>,
  work: () => Promise<Result>,
): Promise<Result> {
  const hides = (name: string) => prefixes.some(prefix => name.startsWith(prefix))
  const before = { ...process.env }
  const replace = (values: Readonly<Record<string, string | undefined>>) => {
    for (const name of Object.keys(process.env).filter(hides)) delete process.env[name]
    Object.assign(process.env, values)
  }
  replace(variables)
  try {
    return await work()
  } finally {
    replace(before)
  }
}
