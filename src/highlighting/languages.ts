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
 * Other names for the languages. TypeScript's grammar also highlights JavaScript, which saves 0.1 s of compiling a second
 * one.
 */
const ALIASES: Readonly<Record<string, keyof typeof GRAMMARS>> = {
  bash: 'shellscript',
  'c#': 'csharp',
  'c++': 'cpp',
  cjs: 'typescript',
  console: 'shellscript',
  cs: 'csharp',
  cts: 'typescript',
  dockerfile: 'docker',
  golang: 'go',
  h: 'c',
  hpp: 'cpp',
  htm: 'html',
  javascript: 'typescript',
  js: 'typescript',
  jsonc: 'json',
  jsx: 'tsx',
  kt: 'kotlin',
  mjs: 'typescript',
  mts: 'typescript',
  patch: 'diff',
  py: 'python',
  python3: 'python',
  rs: 'rust',
  sh: 'shellscript',
  shell: 'shellscript',
  svg: 'xml',
  ts: 'typescript',
  yml: 'yaml',
  zsh: 'shellscript',
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
  const languages = new Map(loaded.map(language => [language.name, language]))
  for (const [alias, name] of Object.entries(ALIASES)) {
    const language = languages.get(name)
    if (language) languages.set(alias, language)
  }
  return languages
}
