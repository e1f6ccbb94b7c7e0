/** @jsxImportSource hono/jsx */
import { plural } from '../plural.ts'
import { LISTENER_ID } from './message.tsx'
import type { ReachedBound } from './spending/spending.ts'

const MINUTE_MS = 60_000
const HOUR_MINUTES = 60

/** Says that a bound is reached and when it ends. The script shows the time by the user's clock. */
export function BoundText({ bound: { account, unit, max, endsAt } }: { bound: ReachedBound }) {
  return (
    <>
      Your {account} has reached its daily limit of {counted(max, unit)}. You can ask again at{' '}
      <time datetime={new Date(endsAt).toISOString()}>00:00 UTC</time>, in {duration(endsAt - Date.now())}.
    </>
  )
}

/** The same in place of the listener. */
export function BoundNote({ bound }: { bound: ReachedBound }) {
  return (
    <div id={LISTENER_ID}>
      <p class="bound">
        <BoundText bound={bound} />
      </p>
    </div>
  )
}

/** Rounded up to minutes. */
function duration(milliseconds: number): string {
  const minutes = Math.max(1, Math.ceil(milliseconds / MINUTE_MS))
  const parts = [counted(Math.floor(minutes / HOUR_MINUTES), 'hour'), counted(minutes % HOUR_MINUTES, 'minute')]
  return parts.filter(part => !part.startsWith('0 ')).join(' and ')
}

function counted(count: number, unit: string): string {
  return `${count.toLocaleString('en')} ${plural(unit, count)}`
}
