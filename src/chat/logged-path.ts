/** Enough characters to find the lines of one turn. */
const SHOWN_CHARACTERS = 8

/** A path for the log, with a shortened id: anyone who has a turn's whole id can read and stop the turn. */
export function loggedPath(path: string): string {
  return path.replaceAll(
    /([/\\](?:chat|chatstream)[/\\])([^/\\]+)/g,
    (_, before: string, id: string) => before + loggedId(id),
  )
}

/** An id for the log. A short one, which a client has chosen, is cut in half. */
export function loggedId(id: string): string {
  return `${id.slice(0, Math.min(SHOWN_CHARACTERS, id.length / 2))}…`
}
