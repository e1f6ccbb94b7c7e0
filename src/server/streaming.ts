import { ByteBudget } from '../limits/byte-budget.ts'
import { ownTurns } from '../limits/own-turns.ts'
import { ClientStreams } from './client-streams.ts'
import { Compressors, OF_EVENTS, OF_TEXTS } from './compressors.ts'

/** Limit on the pieces of all long texts that are being read from the database or wait for their clients. */
const PIECES_MAX_BYTES = 134_217_728

/** The bounds that all streamed responses of one server share. */
export class Streaming {
  /** The open event streams. */
  readonly clients: ClientStreams
  /** The memory for pieces of long texts. */
  readonly pieces = new ByteBudget(PIECES_MAX_BYTES)
  readonly textCompressors = new Compressors(OF_TEXTS)
  readonly eventCompressors = new Compressors(OF_EVENTS)
  /** Reading a piece may take some milliseconds, so each gets a turn of its own. */
  readonly ownTurn = ownTurns()

  constructor(streamsPerAddress: number) {
    this.clients = new ClientStreams(streamsPerAddress)
  }
}
