import { isJsonObject } from '../json-object.ts'

const HAS_CHOICES = /"choices"\s*:\s*\[/

/** No text of an answer matches, because its quotation marks are escaped. */
const HAS_FINISH_REASON = /"finish_reason"\s*:\s*"[^"]/
const NOTHING = '{"choices":[]}'
/** It has the blank line that ends an event, because the server's own may not be read any more. */
const FINISH = '{"choices":[{"finish_reason":"stop"}]}\n\n'

/** With this name, the AI SDK takes a chunk for an error. Foundry Local sends it with each piece. */
const ERROR_OF_NULL = /"error"(?=\s*:\s*null\b)/g

/** Makes the data of the events of one answer what the AI SDK expects. */
export function correctedChunks(): (data: string) => string {
  let isFinished = false
  return data => {
    isFinished ||= HAS_FINISH_REASON.test(data)
    // GenieX and vllm-mlx have ended whole answers with nothing else.
    if (data.trim() === '[DONE]') return isFinished ? data : FINISH
    return withChoices(data.replace(ERROR_OF_NULL, '"no_error"'))
  }
}

/**
 * Anthropic's server for OpenAI's protocol sends pings, and others send a `null` or chunks without choices, some of them with the
 * usage.
 */
function withChoices(data: string): string {
  if (HAS_CHOICES.test(data)) return data
  const chunk = jsonOf(data)
  if (chunk === null) return NOTHING
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
