import type { LanguageRegistration } from '@shikijs/primitive'

/** The grammars that code is highlighted with, each loaded by itself. */
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
 * Names that a fence may give beside the grammars' own. JavaScript is TypeScript without types: one grammar for both
 * saves the 0.1 s that it takes to compile the other.
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

/** A language's grammar, with those that it embeds. */
export interface Language {
  readonly name: string
  readonly registrations: readonly LanguageRegistration[]
}

/** Loads all grammars; they come by each name that a fence may give, in small letters. */
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
