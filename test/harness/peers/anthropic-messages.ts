import { z } from 'zod'
import { type Ending, event, type Protocol, textOf, texts } from './model-server.ts'

const ENDINGS: Record<Ending, string> = { whole: 'end_turn', 'too long': 'max_tokens', withheld: 'refusal' }

const ERRORS: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
}

const request = z.object({
  model: z.string(),
  stream: z.literal(true),
  max_tokens: z.int(),
  system: texts,
  messages: z.array(z.object({ role: z.string(), content: texts })),
})

/** Anthropic's messages: https://docs.anthropic.com/en/docs/build-with-claude/streaming */
export const anthropicMessages: Protocol = {
  environment: address => ({
    CHAT_MODEL: 'anthropic:claude-sonnet-4-5',
    ANTHROPIC_BASE_URL: `${address}/v1`,
    ANTHROPIC_API_KEY: 'anthropic-credential',
  }),
  path: '/v1/messages',
  read: ({ headers, body }) => {
    const { model, system, messages } = request.parse(body)
    return {
      model,
      system: textOf(system),
      prompt: textOf(messages.findLast(({ role }) => role === 'user')?.content),
      credential: headers['x-api-key'] ?? null,
      wantsUsage: true,
    }
  },
  answer: ({ model }) => {
    const frame = (type: string, fields: object = {}) => event({ type, ...fields }, type)
    const tokens = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens })
    const message = {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null },
      usage: tokens(1, 1),
    }
    // A thought is its own block, before the text's block.
    let blocks = 0
    let open: 'text' | 'thinking' | null = null
    const block = (type: 'text' | 'thinking') => {
      if (open === type) return ''
      const before = open === null ? '' : frame('content_block_stop', { index: blocks - 1 })
      open = type
      const content_block = type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' }
      blocks += 1
      return before + frame('content_block_start', { index: blocks - 1, content_block })
    }
    const delta = (fields: object) => frame('content_block_delta', { index: blocks - 1, delta: fields })
    return {
      begin: () => frame('message_start', { message }) + frame('ping'),
      piece: text => block('text') + delta({ type: 'text_delta', text }),
      thought: thinking => block('thinking') + delta({ type: 'thinking_delta', thinking }),
      end: (ending, { input, output }) =>
        (open === null ? '' : frame('content_block_stop', { index: blocks - 1 })) +
        frame('message_delta', {
          delta: { stop_reason: ENDINGS[ending], stop_sequence: null },
          usage: tokens(input, output),
        }) +
        frame('message_stop'),
      failure: message => frame('error', { error: { type: 'overloaded_error', message } }),
    }
  },
  refusal: (status, { message }) => ({
    type: 'error',
    error: { type: ERRORS[status] ?? 'invalid_request_error', message },
  }),
}
