/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Layout } from '../pages/layout.tsx'
import { staticPath } from '../pages/static.ts'
import script from './breeds.client.js' with { type: 'text' }
import styles from './breeds.css' with { type: 'text' }

/** The page's own static files. */
export const FILES = { 'breeds.css': styles, 'breeds.js': script }

/** The events that the page listens for. `status` and `name` are also the ids of the elements that they replace. */
export const TOPIC = { end: 'Terminate', status: 'DogBreedNoMass', name: 'DogBreed' } as const

export const MORE_TO_COME = 'More breeds are coming.'
export const NO_MORE = 'No more breeds are coming.'

export type ReplacingTopic = (typeof TOPIC)['status' | 'name']

interface ReplacedProperties {
  readonly topic: ReplacingTopic
  /** For an event of the stream: replaces the page's element with the same id. */
  readonly swap?: boolean
  readonly children?: Child
}

/** The text that the events of a topic replace. */
export function Replaced({ topic, swap, children }: ReplacedProperties) {
  return (
    <div id={topic} {...(swap && { 'hx-swap-oob': 'true' })}>
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
        {/* Attributes that must last are on the wrappers, because each event replaces the elements inside. */}
        <div class="stage" hx-disable>
          <div class="status">
            <Replaced topic={TOPIC.status} />
            <p class="waiting">Waiting for the list…</p>
            <p class="interrupted">The connection was lost. Trying again…</p>
          </div>
          <div class="name" aria-live="polite">
            <Replaced topic={TOPIC.name} />
          </div>
        </div>
        <section class="listed">
          <h2>
            Listed <span id="count">0</span>
          </h2>
          <ol id="shown"></ol>
        </section>
        <noscript>
          <p>This page needs JavaScript to show the names as the server sends them.</p>
        </noscript>
      </main>
      {/* For screen readers. It changes only with the status text; read out before each name, it would drown the names. */}
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
