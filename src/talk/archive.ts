import { open } from 'node:fs/promises'
import { normalized } from '../normalized.ts'
import { mustBeNew, writeNew } from '../program/new-file.ts'
import { type Message, MODEL_SENDER, type RoomRepository } from './rooms/repository.ts'
import { safeLine, safeText } from './safe-text.ts'
import type { Terminal } from './terminal/terminal.ts'
import { headline, jsonOf, markdownOf } from './transcript.ts'

/** Number of prompts read at a time, each with its answer. */
const TURNS_READ = 100

/** The mode of an exported file. */
const OWNER_ONLY = 0o600

/** Selects messages of a room: those that contain all the words, and of those the last `last`. `null` sets no limit. */
export interface ArchiveSelection {
  readonly last: number | null
  readonly words: string | null
}

/** Prints messages of the room to standard output, laid out or as one line of JSON each. Ctrl-C stops it. */
export async function printMessages(
  terminal: Terminal,
  rooms: RoomRepository,
  room: string,
  selection: ArchiveSelection,
  asJson: boolean,
): Promise<void> {
  using stop = terminal.interruptible()
  for await (const message of selected(rooms, room, selection)) {
    if (stop.signal.aborted) return
    if (asJson) await terminal.print(`${jsonOf(message)}\n`)
    else await printReadably(terminal, message)
  }
}

async function printReadably(terminal: Terminal, message: Message): Promise<void> {
  await terminal.print(`${headline(message)}\n`)
  const text = safeText(message.text)
  if (message.sender === MODEL_SENDER) await terminal.printMarkdown(text)
  else await terminal.print(`${text}\n`)
  await terminal.print('\n')
}

async function* selected(
  rooms: RoomRepository,
  room: string,
  { last, words }: ArchiveSelection,
): AsyncGenerator<Message> {
  if (words === null && last !== null) return yield* await rooms.last(room, last)
  const found: Message[] = []
  for await (const message of allMessages(rooms, room)) {
    if (words !== null && !containsAll(message.text, words)) continue
    if (last === null) yield message
    else if (found.push(message) > last) found.shift()
  }
  yield* found
}

/** Writes the room to a new markdown file that only its owner can read. If that fails, there is no file. */
export async function exportRoom(terminal: Terminal, rooms: RoomRepository, room: string, path: string): Promise<void> {
  mustBeNew(path)
  let messages = 0
  await writeNew(path, async partial => {
    await using file = await open(partial, 'wx', OWNER_ONLY)
    await file.writeFile(`# Conversation of ${safeLine(room)}\n`)
    for await (const message of allMessages(rooms, room)) {
      await file.writeFile(`\n---\n\n${markdownOf(message)}`)
      messages += 1
    }
    await file.sync()
  })
  terminal.say(`${safeLine(path)} has all ${messages} messages of ${room}.`)
}

/** Deletes the room's messages if the user confirms. */
export async function emptyRoom(terminal: Terminal, rooms: RoomRepository, room: string): Promise<void> {
  const count = await rooms.count(room)
  const answer = await terminal.ask({ text: `Delete all ${count} messages of ${room} for good? [y/N] ` })
  if (!/^\s*y(es)?\s*$/i.test(answer ?? '')) return terminal.say('Nothing was deleted.')
  await rooms.deleteMessages(room)
  terminal.say('All messages were deleted.')
}

/** Reads a room of any length, a number of turns at a time. */
async function* allMessages(rooms: RoomRepository, room: string): AsyncGenerator<Message> {
  let lastPrompt = 0
  for (;;) {
    const messages = await rooms.turns(room, lastPrompt, TURNS_READ)
    if (messages.length === 0) return
    yield* messages
    lastPrompt = messages.at(-1)?.answerTo ?? messages.at(-1)?.id ?? lastPrompt
  }
}

function containsAll(text: string, words: string): boolean {
  const whole = folded(text)
  return folded(words.trim())
    .split(/\s+/)
    .every(word => whole.includes(word))
}

/**
 * The same for a letter in upper and lower case, and for an accented one and one with a combining accent. A sigma at the end of
 * a word has the capital of any other.
 */
function folded(text: string): string {
  return normalized(text.toLowerCase().toUpperCase(), 'NFC')
}
