import type { Service } from './service.ts'
import { until } from './until.ts'

/** Metrics with the same name, as `/metrics` shows them. */
export interface ScrapedFamily {
  readonly name: string
  readonly kind: string
  readonly help: string
  readonly samples: readonly ScrapedSample[]
}

export interface ScrapedSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** One read of `/metrics`. */
export interface Scrape {
  readonly families: readonly ScrapedFamily[]
  /** The sum of all samples of this name that have these labels; 0 if there are none. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number
}

/** Flags of a server that shows its metrics. */
export const WITH_METRICS = ['--admin-port', '0', '--access-log', 'off']

/** The address for operators that a server has printed. */
export async function adminAddress({ output }: Service): Promise<string> {
  const address = () => /^stockroom shows operators its status at (http:\/\/\S+)\/status/m.exec(output())?.[1] ?? ''
  await until(() => address() !== '')
  return address()
}

export async function scrape(service: Service): Promise<Scrape> {
  const response = await fetch(`${await adminAddress(service)}/metrics`)
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`)
  const families = parsed(await response.text())
  return {
    families,
    value: (name, labels = {}) =>
      families
        .flatMap(({ samples }) => samples)
        .filter(sample => sample.name === name)
        .filter(sample => Object.entries(labels).every(([label, text]) => sample.labels[label] === text))
        .reduce((sum, { value }) => sum + value, 0),
  }
}

const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/gy

/** Reads the text format by its grammar, and throws at the first line that breaks it. */
function parsed(text: string): ScrapedFamily[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const families: (ScrapedFamily & { readonly samples: ScrapedSample[] })[] = []
  let help: readonly string[] = []
  for (const line of text.slice(0, -1).split('\n')) {
    const [, helpOf = '', helpText = ''] = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line) ?? []
    const [, kindOf = '', kind = ''] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? []
    if (helpOf !== '') help = [helpOf, helpText]
    else if (kindOf !== '') {
      if (help[0] !== kindOf) throw new Error(`${kindOf} has no HELP before its TYPE`)
      if (families.some(({ name }) => name === kindOf)) throw new Error(`${kindOf} appears twice`)
      families.push({ name: kindOf, kind, help: help[1] ?? '', samples: [] })
    } else {
      const sample = sampleOf(line)
      const family = families.at(-1)
      const names =
        family && (family.kind === 'histogram' ? HISTOGRAM_SUFFIXES.map(end => family.name + end) : [family.name])
      if (!family || !names?.includes(sample.name)) throw new Error(`a sample is outside its family: ${line}`)
      family.samples.push(sample)
    }
  }
  return families
}

const HISTOGRAM_SUFFIXES = ['_bucket', '_sum', '_count']

function sampleOf(line: string): ScrapedSample {
  const [, name, labelText = '', number] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  const value = number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number)
  if (name === undefined || Number.isNaN(value)) throw new Error(`not a sample: ${line}`)
  const pairs = [...labelText.matchAll(LABEL)]
  if (pairs.map(([pair]) => pair).join('') !== labelText) throw new Error(`wrong labels: ${line}`)
  return { name, value, labels: Object.fromEntries(pairs.map(([, label = '', text = '']) => [label, text])) }
}
