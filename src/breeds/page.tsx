/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Layout } from '../pages/layout.tsx'
import { staticPath } from '../pages/static.ts'
import script from './breeds.client.js' with { type: 'text' }
import styles from './breeds.css' with { type: 'text' }

/** What the page loads beside what every page needs. */
export const FILES = { 'breeds.css': styles, 'breeds.js': script }

/** The stream's events; the two that it sends have their element's id for a name. */
export const TOPIC = { end: 'Terminate', status: 'DogBreedNoMass', name: 'DogBreed' } as const

export const MORE_TO_COME = 'More breeds are coming.'
export const NO_MORE = 'No more breeds are coming.'

interface Fragment {
  /** As an event, it takes the place of the element with its id. */
  readonly swap?: boolean
  readonly children?: Child
}

export function Status({ swap, children }: Fragment) {
  return (
    <div id={TOPIC.status} {...(swap && { 'hx-swap-oob': 'true' })}>
      {children}
    </div>
  )
}

export function Name({ swap, children }: Fragment) {
  return (
    <div id={TOPIC.name} {...(swap && { 'hx-swap-oob': 'true' })}>
      {children}
    </div>
  )
}

export function breedsPage(): string {
  return `<!doctype html>${(
    <Layout
      title="Dog breeds"
      styles={[staticPath('breeds.css', FILES['breeds.css'])]}
      scripts={[staticPath('breeds.js', FILES['breeds.js'])]}
    >
      <main>
        <header>
          <h1>Dog breeds</h1>
          <p>One at a time, as the server finds them</p>
        </header>
        {/* What must last stands on wrappers: each event replaces the elements inside. */}
        <div class="stage" hx-disable>
          <div class="status">
            <Status />
            <p class="waiting">Waiting for the list…</p>
            <p class="interrupted">The connection was lost. Trying again…</p>
          </div>
          <div class="name" aria-live="polite">
            <Name />
          </div>
        </div>
        <section class="listed">
          <h2>
            Listed <span id="count">0</span>
          </h2>
          <ol id="shown"></ol>
        </section>
        <noscript>
          <p>This page shows what its server sends bit by bit, and needs JavaScript for it.</p>
        </noscript>
      </main>
      {/* The status is said here, where it changes only with its text: read out before each name, it would drown them. */}
      <p id="announcement" class="visually-hidden" role="status"></p>
      <div
        id="listener"
        hx-ext="sse"
        sse-connect="/dogstream"
        sse-swap={[TOPIC.end, TOPIC.status, TOPIC.name].join(',')}
        hx-swap="none"
        data-more={MORE_TO_COME}
        data-no-more={NO_MORE}
      ></div>
    </Layout>
  )}`
}
