import { z } from 'zod'
import { type Ending, event, type Protocol, textOf, texts } from './model-server.ts'

const request = z.object({
  model: z.string(),
  stream: z.literal(true),
  input: z.array(z.object({ role: z.string(), content: texts })),
})

const INCOMPLETE: Record<Exclude<Ending, 'whole'>, string> = {
  'too long': 'max_output_tokens',
  withheld: 'content_filter',
}

/** OpenAI's own: https://platform.openai.com/docs/api-reference/responses-streaming */
export const openaiResponses: Protocol = {
  environment: address => ({
    CHAT_MODEL: 'openai:gpt-5-mini',
    OPENAI_BASE_URL: `${address}/v1`,
    OPENAI_API_KEY: 'openai-credential',
  }),
  path: '/v1/responses',
  read: ({ headers, body }) => {
    const { model, input } = request.parse(body)
    return {
      model,
      system: textOf(input.find(({ role }) => role === 'system' || role === 'developer')?.content),
      prompt: textOf(input.findLast(({ role }) => role === 'user')?.content),
      credential: headers.authorization ?? null,
      wantsUsage: true,
    }
  },
  answer: ({ model }) => {
    let sent = 0
    const frame = (type: string, fields: object) => event({ type, sequence_number: sent++, ...fields }, type)
    const response = (status: string) => ({
      id: 'resp_1',
      object: 'response',
      created_at: 1_700_000_000,
      model,
      status,
    })
    // A thought is its own output item, before the text's item.
    let items = 0
    let open: 'message' | 'reasoning' | null = null
    const item = () => ({
      id: `item_${items}`,
      type: open,
      ...(open === 'message' ? { content: [] } : { summary: [] }),
    })
    const close = () =>
      open === null ? '' : frame('response.output_item.done', { output_index: items - 1, item: item() })
    const within = (type: 'message' | 'reasoning') => {
      if (open === type) return ''
      const before = close()
      open = type
      items += 1
      return before + frame('response.output_item.added', { output_index: items - 1, item: item() })
    }
    const place = () => ({ item_id: `item_${items}`, output_index: items - 1 })
    return {
      begin: () =>
        frame('response.created', { response: response('in_progress') }) +
        frame('response.in_progress', { response: response('in_progress') }),
      piece: delta =>
        within('message') + frame('response.output_text.delta', { ...place(), content_index: 0, delta, logprobs: [] }),
      thought: delta => {
        const begun = within('reasoning')
        const part = { ...place(), summary_index: 0 }
        return (
          begun +
          frame('response.reasoning_summary_part.added', { ...part, part: { type: 'summary_text', text: '' } }) +
          frame('response.reasoning_summary_text.delta', { ...part, delta })
        )
      },
      end: (ending, { input, output }) => {
        const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
        if (ending === 'whole') {
          return close() + frame('response.completed', { response: { ...response('completed'), usage } })
        }
        const incomplete_details = { reason: INCOMPLETE[ending] }
        return frame('response.incomplete', { response: { ...response('incomplete'), incomplete_details, usage } })
      },
      failure: message => frame('error', { code: 'server_error', message, param: null }),
    }
  },
  refusal: (_, { message, code }) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
}
