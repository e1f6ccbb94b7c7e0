import { z } from '@hono/zod-openapi'
import { type Awaitable, whenThere } from '../../awaitable.ts'
import { queryOf } from '../../server/request-target.ts'
import type { App, RequestScope } from '../../server/requests.ts'
import { lazy } from '../../shared.ts'
import type { StoredResource, Values } from '../storage/resource.ts'
import type { Cut, ResourceStore, Update } from '../storage/store.ts'
import { expectedRevisions } from './entity-tag.ts'
import { fieldsParameter, withChosen } from './lists/chosen.ts'
import { type ListKind, ListParameters, selectionRule } from './lists/page.ts'
import { listResponse } from './lists/response.ts'
import { type Catalog, type LinesContract, operation } from './operation.ts'
import { invalid, notFound, representationResponse, writtenResponse } from './responses.ts'

/** Time limit, because a resource may be deleted with millions of items. An idle connection is closed sooner. */
const DELETE_TIMEOUT_SECONDS = 120

const READS_CUT =
  'Reads it. It shows at most 100 items of its array, whose JSON has at most 1,048,576 characters unless it is one item.'

/** One kind of resource, as its operations show it. */
interface Kind<Row extends Values> {
  readonly resource: StoredResource<Row>
  readonly store: ResourceStore<Row>
  readonly tag: string
  /** The URL of one resource, as in the specification. */
  readonly url: string
  /** The body of a response. */
  readonly shape: z.ZodObject
  /** The members that only a request which chooses them gets. */
  readonly furtherMembers?: z.ZodRawShape
  /** The path to the items that a response leaves out of its array. */
  readonly restOf?: (id: number, cut: Cut) => string
}

/** The parameters of a path, which are all ids. */
type Ids = Readonly<Record<string, number>>

/** How a body updates a resource. */
interface Updated<Body extends z.ZodObject> {
  readonly method: 'put' | 'patch'
  readonly body: Body
  readonly specifiedBody?: z.ZodObject
  readonly description?: string
}

/**
 * The makers of a resource's operations. Each adds one to the catalog: `name` is the name of the function in FastAPI, `url` is as
 * in the specification. The parameters of a collection's path are columns of the rows in it.
 */
export function resourceOperations<Row extends Values>(
  catalog: Catalog,
  { resource, store, tag, url: urlOfOne, shape, furtherMembers = {}, restOf }: Kind<Row>,
) {
  const one = { url: urlOfOne, tag, path: idsIn(urlOfOne), query: NO_QUERY, body: NO_BODY, response: shape }
  const [idName = ''] = Object.keys(one.path.shape)
  const idOf = (path: Ids) => path[idName] ?? 0
  /** The resource with the members that a request chooses. */
  const chosen = lazy(() => shape.partial().extend(furtherMembers).openapi(`${resource.name}Fields`))
  const restAfter = (id: number) => restOf && ((cut: Cut) => restOf(id, cut))
  /** The resources that ids in the path or the body refer to. */
  const referred = (...shapes: z.ZodObject[]) =>
    resource.references
      .filter(({ column }) => shapes.some(({ shape }) => column in shape))
      .map(({ resource }) => resource)

  return {
    list(name: string, url: string, kind: ListKind): void {
      if (url.endsWith('/')) addSlashRedirect(catalog.app, url)
      const path = idsIn(url)
      const parameters = new ListParameters(resource, kind, Object.keys(path.shape))
      operation(
        catalog,
        {
          ...{ name, method: 'get', url, tag, path, query: parameters.schema, body: NO_BODY },
          queryRule: selectionRule,
          response: z.array(shape),
          chosen: () => z.array(chosen()),
          absent: referred(path),
        },
        ({ path, query }, scope) => {
          const misfits = parameters.misfits(path, query)
          if (misfits.length > 0) return invalid(misfits)
          const selection = parameters.selection(path, query)
          const { shown, show } = withChosen(store, query, scope.streaming, selection.query.search)
          return listResponse(shown, selection, scope, show)
        },
      )
    },

    /** Creates the row that `rowOf` returns. */
    create<Body extends z.ZodObject>(
      name: string,
      url: string,
      { body, lines }: { readonly body: Body; readonly lines?: LinesContract },
      rowOf: (body: z.output<Body>, path: Ids, scope: RequestScope) => Awaitable<Row>,
    ): void {
      const path = idsIn(url)
      operation(
        catalog,
        {
          ...{ name, method: 'post', url, tag, path, query: NO_QUERY, body, lines },
          response: shape,
          absent: referred(path, body),
        },
        ({ path, body }, scope, claim) => {
          const created = whenThere(rowOf(body, path, scope), row => store.create(row, claim))
          return writtenResponse(scope, created)
        },
      )
    },

    find(name: string): void {
      operation(
        catalog,
        {
          ...{ ...one, name, method: 'get', query: () => z.object(fieldsParameter(resource)) },
          ...(restOf && { description: READS_CUT }),
          chosen,
          absent: [resource.name],
        },
        ({ path, query }, scope) => {
          const id = idOf(path)
          return whenThere(withChosen(store, query, scope.streaming).shown.find(id), found =>
            found ? representationResponse(scope, found, restAfter(id)) : notFound(resource.name),
          )
        },
      )
    },

    /** Sets the values that `valuesOf` returns; `null` if there is no such resource. */
    update<Body extends z.ZodObject>(
      name: string,
      updated: Updated<Body>,
      valuesOf: (body: z.output<Body>, id: number, scope: RequestScope) => Awaitable<Update<Row> | null>,
    ): void {
      operation(
        catalog,
        { ...one, ...updated, name, absent: [resource.name, ...referred(updated.body)] },
        ({ path, body }, scope) => {
          const id = idOf(path)
          const expected = expectedRevisions(scope.request)
          const written = whenThere(valuesOf(body, id, scope), values =>
            values ? store.update(id, values, expected) : { missing: resource.name },
          )
          return writtenResponse(scope, written, restAfter(id))
        },
      )
    },

    remove(name: string): void {
      operation(catalog, { ...one, name, method: 'delete', absent: [resource.name] }, ({ path }, scope) => {
        const id = idOf(path)
        scope.allowIdle(DELETE_TIMEOUT_SECONDS)
        return writtenResponse(scope, store.delete(id, expectedRevisions(scope.request)), restAfter(id))
      })
    },
  }
}

/** Redirects a collection's path without its final slash to the path with it. */
function addSlashRedirect(app: App, url: string): void {
  app.all(url.slice(0, -1), ({ req }) => {
    // Relative, so that behind a proxy it leads neither to http nor to an internal host.
    return new Response(null, { status: 307, headers: { Location: `${url}${queryOf(req.raw.url)}` } })
  })
}

const NO_QUERY = () => z.object({})
const NO_BODY = z.undefined()

/** The parameters of a URL. */
function idsIn(url: string) {
  const names = [...url.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return z.object(Object.fromEntries(names.map(name => [name, z.int()])))
}
