/** The wait in a `Retry-After` header, which has seconds or a date (RFC 9110, 10.2.3); `null` if there is none. */
export function retryAfterMs(headers: Readonly<Record<string, string>>): number | null {
  const text = headers['retry-after']
  if (text === undefined) return null
  const milliseconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(milliseconds) ? Math.max(milliseconds, 0) : null
}
