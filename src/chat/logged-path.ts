/** Enough to find the lines of one turn by. */
const SHOWN_CHARACTERS = 8

/** A path as the log may hold it: anyone who has the whole id of a turn can read and stop it. */
export function loggedPath(path: string): string {
  return path.replaceAll(
    /([/\\](?:chat|chatstream)[/\\])([^/\\]+)/g,
    (_, before: string, id: string) => before + loggedId(id),
  )
}

/** An id as the log may hold it. A short one, which a client chose, is cut to half. */
export function loggedId(id: string): string {
  return `${id.slice(0, Math.min(SHOWN_CHARACTERS, id.length / 2))}…`
}
