import { anthropicMessages } from './anthropic-messages.ts'
import { googleGenerate } from './google-generate.ts'
import type { Protocol } from './model-server.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'

/** Every protocol that the program speaks with models. */
export const PROTOCOLS: readonly Protocol[] = [openaiChat, openaiResponses, anthropicMessages, googleGenerate]
