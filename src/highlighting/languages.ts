import type { LanguageRegistration } from '@shikijs/primitive'

/** The grammars, each with a loader of its own. */
const GRAMMARS = {
  c: () => import('@shikijs/langs/c'),
  cpp: () => import('@shikijs/langs/cpp'),
  csharp: () => import('@shikijs/langs/csharp'),
  css: () => import('@shikijs/langs/css'),
  diff: () => import('@shikijs/langs/diff'),
  docker: () => import('@shikijs/langs/docker'),
  go: () => import('@shikijs/langs/go'),
  html: () => import('@shikijs/langs/html'),
  java: () => import('@shikijs/langs/java'),
  json: () => import('@shikijs/langs/json'),
  kotlin: () => import('@shikijs/langs/kotlin'),
  python: () => import('@shikijs/langs/python'),
  rust: () => import('@shikijs/langs/rust'),
  shellscript: () => import('@shikijs/langs/shellscript'),
  sql: () => import('@shikijs/langs/sql'),
  toml: () => import('@shikijs/langs/toml'),
  tsx: () => import('@shikijs/langs/tsx'),
  typescript: () => import('@shikijs/langs/typescript'),
  xml: () => import('@shikijs/langs/xml'),
  yaml: () => import('@shikijs/langs/yaml'),
} satisfies Record<string, () => Promise<{ default: LanguageRegistration[] }>>

/**
 * Further names for languages; the grammars bring the common ones along. TypeScript's grammar also highlights JavaScript, which
 * saves 0.1 s of compiling a second one.
 */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  c: ['h'],
  cpp: ['hpp'],
  diff: ['patch'],
  go: ['golang'],
  html: ['htm'],
  json: ['jsonc'],
  python: ['python3'],
  shellscript: ['console'],
  tsx: ['jsx'],
  typescript: ['javascript', 'js', 'cjs', 'mjs'],
  xml: ['svg'],
}

/** A language's grammar, with the grammars that it embeds. */
export interface Language {
  readonly name: string
  readonly registrations: readonly LanguageRegistration[]
}

/** Loads all grammars, by every name and alias in lower case. */
export async function loadLanguages(): Promise<ReadonlyMap<string, Language>> {
  const loaded = await Promise.all(
    Object.entries(GRAMMARS).map(async ([name, load]) => ({ name, registrations: (await load()).default })),
  )
  const languages = new Map<string, Language>()
  for (const language of loaded) {
    const { name, registrations } = language
    const labels = [name, ...(registrations.at(-1)?.aliases ?? []), ...(ALIASES[name] ?? [])]
    for (const label of labels) languages.set(label, language)
  }
  return languages
}
