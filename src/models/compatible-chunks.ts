import { isJsonObject } from '../json-object.ts'

const HAS_CHOICES = /"choices"\s*:\s*\[/

/**
 * Adds the choices that the AI SDK expects in each chunk: Anthropic's server for OpenAI's protocol sends pings, and others send
 * chunks without choices, some of them with the usage.
 */
export function withChoices(data: string): string {
  if (HAS_CHOICES.test(data)) return data
  const chunk = jsonOf(data)
  if (!isJsonObject(chunk) || chunk.error) return data
  const { type, object, choices, usage } = chunk
  const isChunk = type === 'ping' || object === 'chat.completion.chunk' || choices === null || isJsonObject(usage)
  return isChunk ? JSON.stringify({ choices: [], usage }) : data
}

/** `undefined` for what is no JSON, or only one of several lines of it. */
function jsonOf(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
