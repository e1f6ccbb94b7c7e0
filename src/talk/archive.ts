import { open } from 'node:fs/promises'
import { OperatorError } from '../operator-error.ts'
import { type Message, MODEL_SENDER, type RoomRepository } from './rooms/repository.ts'
import { safeText } from './safe-text.ts'
import type { Terminal } from './terminal/terminal.ts'
import { headline, jsonOf, markdownOf } from './transcript.ts'

/** Prompts that are read at once, each with its answer. */
const TURNS_READ = 100

/** Which of a room's messages are printed: the last so many of those with all these words. `null` stands for all. */
export interface Selection {
  readonly last: number | null
  readonly words: string | null
}

/** Prints messages of the room to the standard output: to be read, or one line of JSON each. */
export async function printMessages(
  terminal: Terminal,
  rooms: RoomRepository,
  room: string,
  { last, words }: Selection,
  asJson: boolean,
): Promise<void> {
  const print = async (message: Message) => {
    if (asJson) return terminal.print(`${jsonOf(message)}\n`)
    await terminal.print(`${headline(message)}\n`)
    const text = safeText(message.text)
    if (message.sender === MODEL_SENDER) await terminal.printMarkdown(text)
    else await terminal.print(`${text}\n`)
    await terminal.print('\n')
  }
  if (words === null && last !== null) {
    for (const message of await rooms.last(room, last)) await print(message)
    return
  }
  const found: Message[] = []
  for await (const message of allMessages(rooms, room)) {
    if (words !== null && !holdsAll(message.text, words)) continue
    if (last === null) await print(message)
    else if (found.push(message) > last) found.shift()
  }
  for (const message of found) await print(message)
}

/** Writes the room as markdown into a new file, for its owner alone. Throws an `OperatorError` when it cannot be written. */
export async function exportRoom(rooms: RoomRepository, room: string, path: string): Promise<number> {
  try {
    await using file = await open(path, 'wx', 0o600)
    let messages = 0
    await file.write(`# Conversation of ${safeText(room)}\n`)
    for await (const message of allMessages(rooms, room)) {
      await file.write(`\n---\n\n${markdownOf(message)}`)
      messages += 1
    }
    return messages
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && 'syscall' in error)) throw error
    if (error.code === 'EEXIST') throw new OperatorError(`${path} is there already; an export overwrites nothing`)
    throw new OperatorError(`cannot write ${path}: ${error.message}`)
  }
}

/** Deletes the room's messages, if the user says yes to it. */
export async function forgetRoom(terminal: Terminal, rooms: RoomRepository, room: string): Promise<void> {
  const count = await rooms.count(room)
  const answer = await terminal.ask({ text: `Delete all messages of ${room}, ${count} of them, for good? [y/N] ` })
  if (!/^\s*y(es)?\s*$/i.test(answer ?? '')) return terminal.say('Nothing was deleted.')
  await rooms.forget(room)
  terminal.say('All messages were deleted.')
}

/** Turn by turn, in pieces, so that a room of any length can be read. */
async function* allMessages(rooms: RoomRepository, room: string): AsyncGenerator<Message> {
  let lastPrompt = 0
  for (;;) {
    const messages = await rooms.turns(room, lastPrompt, TURNS_READ)
    if (messages.length === 0) return
    yield* messages
    lastPrompt = messages.at(-1)?.answerTo ?? messages.at(-1)?.id ?? lastPrompt
  }
}

function holdsAll(text: string, words: string): boolean {
  const folded = text.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word => folded.includes(word))
}
