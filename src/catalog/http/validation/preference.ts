/** The value of `Preference-Applied` if the client asked for it with `Prefer` (RFC 7240). */
export const STRICT_HANDLING = 'handling=strict'

/** A preference, up to the comma after it. One in quotes is part of a value. */
const PREFERENCE = /(?:"(?:[^"\\]|\\.)*"?|[^",])+/g

/** Whether a `Prefer` asks that parameters which the operation does not have are refused. The first of several counts. */
export function prefersStrict(headers: Headers): boolean {
  const prefer = headers.get('Prefer')
  if (prefer === null) return false
  const preferences = (prefer.match(PREFERENCE) ?? []).map(preference =>
    /^\s*([^\s=;]+)\s*(?:=\s*"?([^\s";]*)"?)?/.exec(preference),
  )
  const handling = preferences.find(preference => preference?.[1]?.toLowerCase() === 'handling')
  return handling?.[2]?.toLowerCase() === 'strict'
}
