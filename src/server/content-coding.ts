/**
 * Picks the coding that the client prefers (RFC 9110, 12.5.3). If it accepts several equally, the first of `available`
 * wins; `identity` wins only if the client asks for it or accepts none of them.
 */
export function contentCoding<Coding extends string>(
  acceptEncoding: string | null,
  available: readonly Coding[],
): Coding | 'identity' {
  const weights = new Map<string, number>()
  for (const part of (acceptEncoding ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map(word => word.trim())
    const weight = parameters.find(parameter => parameter.startsWith('q='))
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0)
  }
  let best: Coding | 'identity' = 'identity'
  let bestWeight = 0
  for (const coding of available) {
    const weight = weights.get(coding) ?? weights.get('*') ?? 0
    if (weight <= bestWeight) continue
    best = coding
    bestWeight = weight
  }
  return bestWeight >= (weights.get('identity') ?? 0) ? best : 'identity'
}
