/** @jsxImportSource hono/jsx */
import { HttpError, logFailure } from '../../server/errors.ts'
import type { App, RequestScope } from '../../server/requests.ts'
import { BULK_RESOURCES, type BulkResource } from '../bulk/resources.ts'
import { NDJSON_TYPE } from '../http/validation/ndjson-type.ts'
import { type PageContext, type PageParts, searchParamsOf } from './answer.ts'
import { exportOf } from './export.ts'
import { type Framed, Notice, usersNeedAdmin, type Visitor } from './frame.tsx'
import { type ImportedFile, importBodies, importFile, type Outcome, type ReportStored } from './import.ts'
import type { PageServices } from './services.ts'
import { countText } from './tables.tsx'

/** Time limit, because hashing many passwords or waiting for another import takes long. */
const TIMEOUT_SECONDS = 255

/** Adds the page that imports and exports files. */
export function addImport(
  app: App,
  { own, visitorOf, framed }: PageParts,
  { catalog, repositories, hashPassword }: PageServices,
): void {
  const bodies = importBodies()
  const means = { loader: repositories.loader, hashPassword }

  app.get('/admin/import', context => framed(context, importPage(visitorOf(context), 'products', null)))

  app.post('/admin/import', context => {
    const visitor = visitorOf(context)
    context.env.allowIdle(TIMEOUT_SECONDS)
    const { request } = context.env
    const { signal } = request
    if (context.req.header('Content-Type')?.startsWith('multipart/form-data')) {
      // By a browser without scripts. A form is read as a whole.
      return catalog.budgets.bulkBodies.answering(request, async body => {
        const file = await fileIn(context, visitor, await body.bytes())
        const outcome = await importFile({ ...file, signal }, means, () => {})
        const page = importPage(visitor, file.resource.stored.table, outcome)
        return framed(context, page, outcome.imported > 0 ? 200 : 422)
      })
    }
    const query = searchParamsOf(context)
    const resource = resourceOf(visitor, query.get('list'))
    const format = query.get('format') === 'csv' ? 'csv' : 'ndjson'
    return bodies.answering(request, body =>
      progressAnswer(context.env, report =>
        importFile({ resource, format, chunks: body.chunks(), signal }, means, report),
      ),
    )
  })

  app.get('/admin/export/:file', context => {
    const [name = '', format = ''] = (context.req.param('file') ?? '').split('.')
    const resource = resourceOf(visitorOf(context), name)
    if (format !== 'csv' && format !== 'ndjson') throw new HttpError(404, 'There are files in CSV and NDJSON')
    return exportOf(own, context.env, resource, format)
  })
}

/** Sends a line for each report and for the outcome. It begins when the whole file has arrived. */
async function progressAnswer(
  { request, requestId }: RequestScope,
  work: (report: ReportStored) => Promise<Outcome>,
): Promise<Response> {
  const { readable, writable } = new TransformStream<string, string>()
  const writer = writable.getWriter()
  const begun = Promise.withResolvers<void>()
  const send = (value: unknown) => {
    writer.write(`${JSON.stringify(value)}\n`).catch(() => {
      // The page was closed, so nobody reads the rest.
    })
  }
  const outcome = work((stored, of) => {
    send({ stored, of })
    begun.resolve()
  })
  // A file that is wrong has an answer with its own status.
  await Promise.race([begun.promise, outcome])
  outcome
    .catch(error => {
      // Closing the page stops the import, which is no failure.
      if (!request.signal.aborted) logFailure(error, requestId)
      return { imported: 0, failure: 'The server could not store the lines' }
    })
    .then(ended => {
      send({ html: `${<Result outcome={ended} />}` })
      return writer.close()
    })
    .catch(() => {})
  return new Response(readable.pipeThrough(new TextEncoderStream()), {
    headers: { 'Content-Type': NDJSON_TYPE, 'Cache-Control': 'no-store' },
  })
}

async function fileIn(
  context: PageContext,
  visitor: Visitor,
  bytes: Uint8Array,
): Promise<Omit<ImportedFile, 'signal'>> {
  const type = context.req.header('Content-Type') ?? ''
  const sent = new Response(new Uint8Array(bytes), { headers: { 'Content-Type': type } })
  const form = await sent.formData().catch(() => null)
  const file = form?.get('file')
  if (!form || !(file instanceof File)) throw new HttpError(422, 'Choose a file')
  const format = file.name.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson'
  return { resource: resourceOf(visitor, String(form.get('list'))), format, chunks: file.stream() }
}

function resourceOf({ scope }: Visitor, list: string | null): BulkResource {
  const resource = BULK_RESOURCES.find(({ stored }) => stored.table === list)
  if (!resource) throw new HttpError(404, 'There is no such list')
  if (resource.stored.table === 'users' && scope === 'write') throw usersNeedAdmin()
  return resource
}

function importPage(visitor: Visitor, chosen: string, outcome: Outcome | null): Framed {
  const lists = BULK_RESOURCES.map(({ stored }) => stored.table).filter(
    table => table !== 'users' || visitor.scope !== 'write',
  )
  return {
    title: 'Import and export',
    section: '/admin/import',
    content: (
      <>
        <div class="title">
          <h1>Import and export</h1>
        </div>
        <div class="halves">
          <form class="card form" id="import" action="/admin/import" method="post" enctype="multipart/form-data">
            <h2>Import a file</h2>
            <div class="field">
              <label for="list">What it has</label>
              <select id="list" name="list">
                {lists.map(table => (
                  <option value={table} selected={table === chosen}>
                    {table}
                  </option>
                ))}
              </select>
            </div>
            <label class="drop">
              <span>
                <strong>Choose a CSV or NDJSON file</strong>
                <span class="scripted"> or drop it here</span>
              </span>
              <input type="file" name="file" accept=".csv,.ndjson,.jsonl,text/csv,application/x-ndjson" required />
            </label>
            <p class="hint">
              All lines are stored, or none if one of them is wrong. A CSV file names the fields in its first line.
            </p>
            <div class="buttons">
              <button type="submit" class="primary">
                Import
              </button>
            </div>
            <div id="progress" hidden>
              <progress max="1" aria-labelledby="step"></progress>
              <p id="step"></p>
              <button type="button">Cancel</button>
            </div>
            <div id="outcome" role="status">
              {outcome && <Result outcome={outcome} />}
            </div>
          </form>
          <section class="card" aria-labelledby="export">
            <h2 id="export">Export</h2>
            <p class="quiet">Everything in a list, as it is now. Passwords stay here.</p>
            <table class="exports">
              <tbody>
                {lists.map(table => (
                  <tr>
                    <th scope="row">{table}</th>
                    {['csv', 'ndjson'].map(format => (
                      <td>
                        <a class="button" href={`/admin/export/${table}.${format}`}>
                          {format.toUpperCase()}
                          <span class="visually-hidden"> of {table}</span>
                        </a>
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        </div>
      </>
    ),
  }
}

function Result({ outcome: { imported, wrong = [], ignored = [], failure } }: { readonly outcome: Outcome }) {
  if (failure !== undefined) return <Notice kind="trouble">Nothing was imported: {failure}.</Notice>
  if (wrong.length === 0) {
    return (
      <Notice>
        {countText(imported)} {imported === 1 ? 'line' : 'lines'} imported.
        {ignored.length > 0 && ` Ignored columns: ${ignored.join(', ')}.`}
      </Notice>
    )
  }
  return (
    <>
      <Notice kind="trouble">Nothing was imported, because these lines are wrong:</Notice>
      <ol class="wrong" tabindex={0} aria-label="Wrong lines">
        {wrong.map(({ line, field, reason }) => (
          <li>
            <span>Line {line}</span> {field && <code>{field}</code>} {reason}
          </li>
        ))}
      </ol>
    </>
  )
}
