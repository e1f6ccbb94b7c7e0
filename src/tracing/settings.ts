import { type CommandLine, fromEnvironment, httpUrl, type Setting, wholeNumber } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'

const SLOW_MAX_MS = 3_600_000

/** The variables that say where spans go, as OpenTelemetry names them. */
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const

const slowMs: Setting<number | null> = {
  variable: 'SLOW_MS',
  flag: 'slow-ms',
  placeholder: 'N',
  fallback: 'off',
  meaning: 'log where the time went of each request that takes this many milliseconds or more',
  parse: text => (text === 'off' ? null : wholeNumber(text, 0, SLOW_MAX_MS)),
}

export const tracingSettings = [slowMs]

export const TRACING_NOTE = `Traces go to OTEL_EXPORTER_OTLP_ENDPOINT, if it is set. OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER and other variables of
OpenTelemetry are known, too.`

/** The choice of the traces that are exported. */
export interface Sampling {
  /** The share of new traces; the share of all traces, if callers do not decide. */
  readonly share: number
  readonly callersDecide: boolean
}

export interface TracingSettings {
  /** `null`: no request counts as slow. */
  readonly slowMs: number | null
  /** `null`: nothing is exported. */
  readonly sampling: Sampling | null
}

/** Throws a `SettingError` that names the wrong setting. */
export function readTracingSettings(line: CommandLine): TracingSettings {
  const endpoints = ENDPOINTS.map(variable => fromEnvironment(variable, httpUrl))
  const isDisabled =
    fromEnvironment('OTEL_SDK_DISABLED', text => text.toLowerCase()) === 'true' ||
    fromEnvironment('OTEL_TRACES_EXPORTER', text => text) === 'none'
  for (const variable of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    fromEnvironment(variable, overHttp)
  }
  const isWanted = endpoints.some(endpoint => endpoint !== null) && !isDisabled
  return { slowMs: line.value(slowMs), sampling: isWanted ? readSampling() : null }
}

/** The samplers without an argument. */
const SHARES: Readonly<Record<string, number>> = { always_on: 1, always_off: 0 }

function readSampling(): Sampling {
  const share = fromEnvironment('OTEL_TRACES_SAMPLER_ARG', shareOf) ?? 1
  const parse = (text: string): Sampling => {
    const [, parentBased, sampler] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(text) ?? []
    if (sampler === undefined) {
      throw new SettingError(
        `${JSON.stringify(text)} is not always_on, always_off, traceidratio, or one of these after parentbased_`,
      )
    }
    return { share: SHARES[sampler] ?? share, callersDecide: parentBased !== undefined }
  }
  return fromEnvironment('OTEL_TRACES_SAMPLER', parse) ?? { share: 1, callersDecide: true }
}

function shareOf(text: string): number {
  const share = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(share >= 0 && share <= 1)) throw new SettingError(`${JSON.stringify(text)} is not a number from 0 to 1`)
  return share
}

/** The collectors of OpenTelemetry take JSON wherever they take protobuf over HTTP. */
function overHttp(text: string): void {
  if (text === 'grpc') throw new SettingError('only http/json is supported, which collectors take on port 4318')
}
