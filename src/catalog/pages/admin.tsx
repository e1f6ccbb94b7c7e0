import { formLimit } from '../../pages/form.ts'
import { HttpError } from '../../server/errors.ts'
import type { App } from '../../server/requests.ts'
import { htmlAnswer, type PageContext, pathId, searchParamsOf, seeOther } from './answer.ts'
import { askingPage, type Deletions, deleteItems, LISTS, readDeletions } from './deletions.tsx'
import { facets } from './facets.tsx'
import type { PageParts } from './form-routes.tsx'
import { usersNeedAdmin } from './frame.tsx'
import { categoriesPage, productsPage, reviewsPage, usersPage } from './list-pages.tsx'
import type { ManagedLists } from './managed.ts'
import { reviewPage } from './review-page.tsx'

const KEPT = 'somebody has changed them since, or they could not be deleted. Look at them again.'

/** Adds the lists, and the deletion of what they show. */
export function addAdmin(app: App, { lists, own, visitorOf }: PageParts, hasFacets: boolean): void {
  const toldIn = (context: PageContext) => {
    const query = searchParamsOf(context)
    const [deleted, kept] = [Number(query.get('deleted')), Number(query.get('kept'))]
    const told = query.has('deleted') ? `${deleted} deleted.${kept > 0 ? ` ${kept} not: ${KEPT}` : ''}` : null
    return { visitor: visitorOf(context), query, told }
  }

  app.get('/admin', () => seeOther('/admin/'))
  app.get('/admin/', async context => htmlAnswer(context, await productsPage(lists, toldIn(context), hasFacets)))
  app.get('/admin/categories/', async context => htmlAnswer(context, await categoriesPage(lists, toldIn(context))))
  app.get('/admin/users/', async context => htmlAnswer(context, await usersPage(lists, toldIn(context))))
  app.get('/admin/reviews/', async context => htmlAnswer(context, await reviewsPage(lists, toldIn(context))))

  app.get('/admin/reviews/:id', async context => {
    const item = await lists.wholeReviews.find(pathId(context))
    if (!item) throw new HttpError(404, 'There is no such review, or no longer')
    const { product_id: productId, user_id: userId } = item.value
    const [products, authors] = await Promise.all([lists.products.some([productId]), lists.userNames.some([userId])])
    const product = products.get(productId)?.name ?? 'a deleted product'
    const author = authors.get(userId)?.name ?? 'unknown'
    return htmlAnswer(context, reviewPage({ visitor: visitorOf(context), item, author, product }))
  })

  if (hasFacets) {
    app.get('/admin/facets', async context =>
      htmlAnswer(context, await facets(own, context.env, searchParamsOf(context))),
    )
  }

  app.post('/admin/deletions', formLimit, async context => {
    const visitor = visitorOf(context)
    const deletions = await readDeletions(context.req.raw)
    const { items, isConfirmed } = deletions
    const list = LISTS[items[0]?.path ?? 'products']
    if (items.length === 0) return seeOther(list)
    if (visitor.scope === 'write' && items.some(({ path }) => path === 'users')) throw usersNeedAdmin()
    if (!isConfirmed)
      return htmlAnswer(context, askingPage({ visitor, deletions, names: await namesOf(lists, deletions) }))
    const outcomes = await deleteItems(own, context.env, items)
    if (!context.req.header('Accept')?.includes('text/html')) return context.json(outcomes)
    const gone = outcomes.filter(({ isGone }) => isGone).length
    return seeOther(`${list}?deleted=${gone}&kept=${outcomes.length - gone}`)
  })
}

async function namesOf(lists: ManagedLists, { items }: Deletions): Promise<string[]> {
  const path = items[0]?.path ?? 'products'
  const ids = items.filter(item => item.path === path).map(({ id }) => Number(id))
  if (path === 'reviews') {
    const found = await lists.reviews.some(ids)
    return ids.map(id => `★ ${found.get(id)?.rating ?? '?'}: ${found.get(id)?.comment.slice(0, 120) ?? ''}`)
  }
  const found =
    path === 'products' ? await lists.products.some(ids) : await lists[path === 'users' ? 'userNames' : path].some(ids)
  return ids.map(id => found.get(id)?.name ?? `${path} ${id}`)
}
