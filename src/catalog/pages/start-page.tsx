/** @jsxImportSource hono/jsx */
import { Layout } from '../../pages/layout.tsx'
import { SHOWN_COMMAND } from '../../program/own-command.ts'
import { version } from '../../program/version.ts'
import { isHttps } from '../../server/forwarded-protocol.ts'
import { wholeList } from '../storage/query.ts'
import { SCRIPT_PATH, STYLES_PATH } from './frame.tsx'
import type { PageServices } from './services.ts'
import { countText } from './tables.tsx'

/** A count stops here. */
const MOST = 1_000_000

/** The page at the service's address, for people who open it. */
export async function startPage(
  { catalog, repositories, hasAdminPage, trustedProxies }: PageServices,
  headers: Headers,
) {
  const { access } = catalog
  const isOpen = access === null || access.publicReads
  const [products, categories] = isOpen
    ? await Promise.all([
        repositories.products.count(wholeList(), MOST),
        repositories.categories.count(wholeList(), MOST),
      ])
    : [null, null]
  const address = `${isHttps(headers, trustedProxies) ? 'https' : 'http'}://${headers.get('Host') ?? 'localhost'}`
  const key = isOpen ? '' : `-H "Authorization: Bearer $STOCKROOM_KEY" `
  const command = `curl ${key}'${address}/products/?q=spade&limit=5'`
  return `<!doctype html>${(
    <Layout title="Stockroom" styles={[STYLES_PATH]} scripts={[SCRIPT_PATH]}>
      <main class="start">
        <h1>Stockroom</h1>
        <p class="lead">
          This is a store catalog: products, categories, reviews and users, over HTTP. Programs talk to it; people start
          here.
        </p>
        {products !== null && categories !== null && (
          <dl class="counts">
            <Count name={products === 1 ? 'product' : 'products'} value={products} />
            <Count name={categories === 1 ? 'category' : 'categories'} value={categories} />
          </dl>
        )}
        {products === 0 && (
          <p>
            The catalog is empty. <code>{SHOWN_COMMAND} seed</code> fills it with sample data.
          </p>
        )}
        <nav class="doors" aria-label="Pages">
          {hasAdminPage && (
            <a href="/admin/">
              <strong>Admin page</strong>
              <span>{access ? 'Manage the store, with an access key' : 'Manage the store, from this machine'}</span>
            </a>
          )}
          <a href="/docs">
            <strong>Documentation</strong>
            <span>Every operation, to read and to try</span>
          </a>
          <a href="/openapi.json">
            <strong>openapi.json</strong>
            <span>The description of the interface, for tools</span>
          </a>
        </nav>
        <h2 id="try">Try it</h2>
        <div class="command">
          <pre tabindex={0}>
            <code>{command}</code>
          </pre>
          <button type="button" class="scripted" data-copy={command}>
            Copy
          </button>
        </div>
        {!isOpen && (
          <p class="quiet">
            <code>{SHOWN_COMMAND} key create NAME</code> makes a key. Put it into <code>STOCKROOM_KEY</code>.
          </p>
        )}
        <p>
          <code>{SHOWN_COMMAND} demo</code> opens a small shop that shows what can be built with this.
        </p>
        <footer class="quiet">Stockroom {version}</footer>
      </main>
    </Layout>
  )}`
}

function Count({ name, value }: { readonly name: string; readonly value: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {countText(value)}
        {value === MOST && '+'}
      </dd>
    </div>
  )
}
