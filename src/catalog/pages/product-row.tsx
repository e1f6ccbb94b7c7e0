/** @jsxImportSource hono/jsx */
import { readForm } from '../../pages/form.ts'
import type { App } from '../../server/requests.ts'
import { htmlAnswer, type PageParts, pathId, searchParamsOf, seeOther } from './answer.ts'
import { update } from './form-routes.tsx'
import { textsOf } from './form-texts.ts'
import { BOUNDED_MAX_UNITS } from './forms.tsx'
import type { ListedItem } from './lists.ts'
import { KINDS, type ProductItem } from './managed.ts'
import { price, productRow } from './tables.tsx'

/** Adds the row of a product, as it is shown and as it is edited in place. */
export function addProductRow(app: App, { lists, own }: PageParts): void {
  const shown = async (item: ListedItem<ProductItem>) => {
    const category = await lists.categories.find(item.value.category_id ?? 0)
    return `${productRow(item, category?.value.name, true)}`
  }

  app.get('/admin/products/:id/row', async context => {
    const item = await lists.products.get(pathId(context))
    const { id, name, price: amount } = item.value
    const isEdited = searchParamsOf(context).has('edit')
    const row = isEdited
      ? `${<RowForm id={id} tag={item.tag} name={name} price={price(amount)} problem={null} />}`
      : await shown(item)
    return htmlAnswer(context, row)
  })

  app.post('/admin/products/:id/row', async context => {
    const { text } = await readForm(context.req.raw)
    const id = pathId(context)
    const item = await lists.whole.products.get(id)
    const sent = { name: text('name'), price: text('price') }
    const texts = { ...textsOf(KINDS.products, item.value), ...sent }
    const refusal = await update(own, context, KINDS.products, { item, texts, tag: text('tag') })
    const now = await lists.products.get(id)
    if (!refusal) {
      const isPage = context.req.header('HX-Request') !== 'true'
      return isPage ? seeOther('/admin/') : htmlAnswer(context, await shown(now))
    }
    const isConflict = refusal.status === 412
    const theirs = `Somebody has changed it to “${now.value.name}”, ${price(now.value.price)}. Save again to replace that.`
    const problem = isConflict ? theirs : Object.values(refusal.fields).join('; ') || refusal.reason
    const tag = isConflict ? now.tag : text('tag')
    return htmlAnswer(context, `${<RowForm id={id} {...sent} tag={tag} problem={problem} />}`, refusal.status)
  })
}

interface RowFormProperties {
  readonly id: number
  readonly tag: string
  readonly name: string
  readonly price: string
  readonly problem: string | null
}

function RowForm({ id, tag, name, price, problem }: RowFormProperties) {
  const row = `/admin/products/${id}/row`
  return (
    <tr id={`products-${id}`} class="editing">
      <td colspan={5}>
        {/* While it is being saved, it is too late to cancel. */}
        <form
          action={row}
          method="post"
          hx-post={row}
          hx-target="closest tr"
          hx-swap="outerHTML"
          hx-sync="closest tr:drop"
        >
          <input type="hidden" name="tag" value={tag} />
          <label>
            <span>Name</span>
            <input name="name" value={name} dir="auto" required minlength={3} maxlength={BOUNDED_MAX_UNITS} autofocus />
          </label>
          <label class="short">
            <span>Price</span>
            <input name="price" value={price} required inputmode="decimal" />
          </label>
          <div class="buttons">
            <button type="submit" class="primary">
              Save
            </button>
            <a class="button" href="/admin/" hx-get={row} hx-target="closest tr" hx-swap="outerHTML" data-cancel>
              Cancel
            </a>
          </div>
          {problem && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
        </form>
      </td>
    </tr>
  )
}
