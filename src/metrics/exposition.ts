import type { Family, Labels } from './family.ts'

/** The text format of Prometheus, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/ */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function exposition(families: readonly Family[]): string {
  return families.map(textOf).join('')
}

function textOf(family: Family): string {
  const { name, help, kind } = family
  let text = `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${kind}\n`
  if (family.kind !== 'histogram') {
    for (const { labels, value } of family.samples) text += line(name, labels, value)
    return text
  }
  for (const { labels, value } of family.samples) {
    let count = 0
    for (const [place, some] of value.counts.entries()) {
      count += some
      text += line(`${name}_bucket`, { ...labels, le: String(value.bounds[place] ?? '+Inf') }, count)
    }
    text += line(`${name}_sum`, labels, value.sum) + line(`${name}_count`, labels, count)
  }
  return text
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
