import { z } from 'zod'
import { type Ending, type Protocol, textOf, texts } from './model-server.ts'

const ENDINGS: Record<Ending, string> = { whole: 'STOP', 'too long': 'MAX_TOKENS', withheld: 'SAFETY' }

const ERRORS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

const request = z.object({
  systemInstruction: z.object({ parts: texts }),
  contents: z.array(z.object({ role: z.string(), parts: texts })),
})

/** Google's streamGenerateContent: https://ai.google.dev/api/generate-content */
export const googleGenerate: Protocol = {
  environment: address => ({
    CHAT_MODEL: 'google:gemini-2.5-flash',
    GOOGLE_GEMINI_BASE_URL: address,
    GOOGLE_GENERATIVE_AI_API_KEY: 'google-credential',
  }),
  path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
  read: ({ path, headers, body }) => {
    const { systemInstruction, contents } = request.parse(body)
    return {
      model: /models\/([^:]+):/.exec(path)?.[1] ?? '',
      system: textOf(systemInstruction.parts),
      prompt: textOf(contents.findLast(({ role }) => role === 'user')?.parts),
      credential: headers['x-goog-api-key'] ?? null,
      wantsUsage: true,
    }
  },
  answer: ({ model }) => {
    // Google ends its lines with carriage return and line feed.
    const chunk = (candidate: object, { input, output } = { input: 1, output: 1 }) => {
      const usageMetadata = {
        promptTokenCount: input,
        candidatesTokenCount: output,
        totalTokenCount: input + output,
      }
      const content = { candidates: [{ index: 0, ...candidate }], usageMetadata, modelVersion: model, responseId: 'r1' }
      return `data: ${JSON.stringify(content)}\r\n\r\n`
    }
    const said = (part: object) => ({ content: { role: 'model', parts: [part] } })
    return {
      begin: () => '',
      piece: text => chunk(said({ text })),
      thought: text => chunk(said({ text, thought: true })),
      end: (ending, tokens) => chunk({ ...said({ text: '' }), finishReason: ENDINGS[ending] }, tokens),
      failure: message => `data: ${JSON.stringify({ error: { code: 503, message, status: 'UNAVAILABLE' } })}\r\n\r\n`,
    }
  },
  refusal: (code, { message, code: reason }) => ({
    error: { code, message, status: ERRORS[code] ?? 'UNKNOWN', details: reason === null ? [] : [{ reason }] },
  }),
}
