import { z } from 'zod'
import { type Ending, event, type Protocol, textOf, texts } from './model-server.ts'

const ENDINGS: Record<Ending, string> = { whole: 'stop', 'too long': 'length', withheld: 'content_filter' }

const request = z.object({
  model: z.string(),
  stream: z.literal(true),
  messages: z.array(z.object({ role: z.string(), content: texts })),
  stream_options: z.object({ include_usage: z.boolean() }).optional(),
})

/** OpenAI's chat completions, spoken by many servers: https://platform.openai.com/docs/api-reference/chat-streaming */
export const openaiChat: Protocol = {
  environment: address => ({
    CHAT_MODEL: 'compatible:small-model',
    CHAT_BASE_URL: `${address}/v1`,
    CHAT_API_KEY: 'chat-credential',
  }),
  path: '/v1/chat/completions',
  read: ({ headers, body }) => {
    const { model, messages, stream_options } = request.parse(body)
    return {
      model,
      system: textOf(messages.find(({ role }) => role === 'system')?.content),
      prompt: textOf(messages.findLast(({ role }) => role === 'user')?.content),
      credential: headers.authorization ?? null,
      wantsUsage: stream_options?.include_usage === true,
    }
  },
  answer: ({ model, wantsUsage }) => {
    const frame = (fields: object) =>
      event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model, ...fields })
    const chunk = (delta: object, finish_reason: string | null = null) =>
      frame({ choices: [{ index: 0, delta, logprobs: null, finish_reason }] })
    const usage = ({ input, output }: { input: number; output: number }) =>
      frame({
        choices: [],
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
      })
    return {
      begin: () => chunk({ role: 'assistant', content: '' }),
      piece: content => chunk({ content }),
      thought: reasoning_content => chunk({ reasoning_content }),
      end: (ending, tokens) => `${chunk({}, ENDINGS[ending])}${wantsUsage ? usage(tokens) : ''}data: [DONE]\n\n`,
      failure: message => event({ error: { message, type: 'server_error', param: null, code: null } }),
    }
  },
  refusal: (_, { message, code }) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
}
