import { openDatabase } from '../../../src/database/open.ts'
import { database as databaseSetting } from '../../../src/database/settings.ts'
import { passwordDigest } from '../../../src/talk/login.ts'
import { talkMigrations } from '../../../src/talk/migrations/index.ts'
import { roomsOf } from '../../../src/talk/rooms/open.ts'
import { PASSWORD, type TalkPlace } from './talk.ts'

/** A prompt and its answer, or `null` if the model failed. */
export type StoredTurn = readonly [prompt: string, answer: string | null]

/** Registers a user who has had these turns. The program's own code stores them, in this process, which is quicker than to have them. */
export async function storeTurns(
  { databaseUrl }: TalkPlace,
  username: string,
  turns: readonly StoredTurn[],
): Promise<void> {
  const settings = { address: databaseSetting.parse(databaseUrl) }
  await using database = await openDatabase(settings, [talkMigrations])
  const rooms = roomsOf(database)
  await rooms.register(username, passwordDigest(PASSWORD))
  for (const [prompt, answer] of turns) {
    const { id } = await rooms.addPrompt(username, prompt, 0)
    if (answer !== null) await rooms.addAnswer(id, answer, false)
  }
}
