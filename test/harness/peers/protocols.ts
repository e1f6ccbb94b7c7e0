import { anthropicMessages } from './anthropic-messages.ts'
import { googleGenerate } from './google-generate.ts'
import type { Protocol } from './model-server.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'

/** Every protocol that a model is asked in. */
export const PROTOCOLS: readonly Protocol[] = [openaiChat, openaiResponses, anthropicMessages, googleGenerate]
