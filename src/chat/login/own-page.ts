/** A turn's page, by the characters that may stand in a path segment. */
const TURN = /^\/chat\/[\w~!$&'()*+,;=:@%-][\w.~!$&'()*+,;=:@%-]*/

/**
 * The page that a path belongs to: that of a turn, or the first one. So the result always leads to the chat, even if somebody
 * has put another path into a link.
 */
export function ownPage(path: string): string {
  return TURN.exec(path)?.[0] ?? '/'
}
