/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Layout } from '../pages/layout.tsx'

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
    <Layout title="Dog breeds" styles={['/static/breeds.css']} scripts={['/static/breeds.js']}>
      <main>
        <h1>Dog breeds, one at a time</h1>
        {/* What is live stands on wrappers: each event replaces the elements inside. */}
        <div class="stage" hx-disable>
          <div class="status" role="status">
            <Status />
          </div>
          <div class="name" aria-live="polite">
            <Name />
          </div>
        </div>
        <ol id="shown" aria-label="Breeds so far"></ol>
        <noscript>
          <p>This page shows what its server sends bit by bit, and needs JavaScript for it.</p>
        </noscript>
      </main>
      <div
        id="listener"
        hx-ext="sse"
        sse-connect="/dogstream"
        sse-swap={[TOPIC.end, TOPIC.status, TOPIC.name].join(',')}
        hx-swap="none"
        data-more={MORE_TO_COME}
      ></div>
    </Layout>
  )}`
}
