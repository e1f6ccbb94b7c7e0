/** A frame of an event stream. One with an id alone has no event. */
export interface Frame {
  readonly event: string | null
  readonly id: string | null
  readonly data: FrameData | null
}

interface FrameData {
  readonly type: string
  readonly subject?: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Follows `/events` until it is disposed of. */
export class EventFollower implements AsyncDisposable {
  readonly response: Response
  readonly frames: Frame[] = []
  /** Everything as it was sent. */
  text = ''
  isEnded = false
  /** Whether it ended in the middle: neither the service ended the stream, nor this follower. */
  isCut = false
  readonly #leaving: AbortController
  #changed = Promise.withResolvers<void>()
  readonly #reading: Promise<void>

  private constructor(response: Response, leaving: AbortController) {
    this.response = response
    this.#leaving = leaving
    this.#reading = this.#read()
  }

  /** Resolves when the stream is ready. */
  static async at(address: string, path = '/events', headers: Record<string, string> = {}): Promise<EventFollower> {
    const leaving = new AbortController()
    const response = await fetch(address + path, { headers, signal: leaving.signal })
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    const follower = new EventFollower(response, leaving)
    await follower.until(frames => frames.length > 0)
    return follower
  }

  /** The events after the first frame, which is `ready` or `reset`. */
  get events(): Frame[] {
    return this.frames.slice(1).filter(({ event }) => event !== null)
  }

  get types(): (string | null)[] {
    return this.events.map(({ event }) => event)
  }

  get lastId(): string {
    return this.frames.findLast(({ id }) => id !== null)?.id ?? ''
  }

  /** Waits for a number of events after the first frame. */
  async count(events: number): Promise<Frame[]> {
    await this.until(() => this.events.length >= events)
    return this.events
  }

  /** Rejects if the stream ends, or nothing comes for long. */
  async until(isEnough: (frames: readonly Frame[]) => boolean, longestMs = 30_000): Promise<void> {
    const late = AbortSignal.timeout(longestMs)
    while (!isEnough(this.frames)) {
      if (this.isEnded || late.aborted) throw new Error(`only ${JSON.stringify(this.frames)} arrived`)
      await Promise.race([this.#changed.promise, Bun.sleep(100)])
    }
  }

  /** Resolves when the stream has ended. */
  ended(): Promise<void> {
    return this.#reading
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leaving.abort()
    await this.#reading
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    try {
      for await (const bytes of this.response.body ?? []) {
        const text = decoder.decode(bytes, { stream: true })
        this.text += text
        const blocks = (rest + text).split('\n\n')
        rest = blocks.pop() ?? ''
        this.frames.push(...blocks.flatMap(block => frameIn(block) ?? []))
        this.#changed.resolve()
        this.#changed = Promise.withResolvers()
      }
    } catch {
      this.isCut = !this.#leaving.signal.aborted
    }
    this.isEnded = true
    this.#changed.resolve()
  }
}

/** `null` for a comment and `retry`. */
function frameIn(block: string): Frame | null {
  const fields = new Map(
    block.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const data = fields.get('data')
  const frame = {
    event: fields.get('event') ?? null,
    id: fields.get('id') ?? null,
    data: data === undefined ? null : JSON.parse(data),
  }
  return frame.event === null && frame.id === null ? null : frame
}
