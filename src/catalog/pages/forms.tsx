/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { DeleteButton, itemText } from './deletions.tsx'
import { inField, type Texts } from './form-texts.ts'
import { type Framed, Notice } from './frame.tsx'
import { type CategoryItem, type Field, LISTS, type ManagedKind } from './managed.ts'
import type { Refusal } from './own-operations.ts'

/** A bounded field has at most 50 characters. Browsers count UTF-16 units, of which a character may have two. */
export const BOUNDED_MAX_UNITS = 100

export interface FormPage {
  readonly kind: ManagedKind
  /** `null` for a new one. */
  readonly id: number | null
  /** Of a new one, its `Idempotency-Key`. */
  readonly tag: string
  readonly name: string
  readonly texts: Texts
  readonly told?: string | undefined
  readonly refusal?: Refusal
  /** The saved texts, if somebody else has changed them since the form was shown. */
  readonly theirs?: Texts
  /** The categories that a new product can have. */
  readonly categories?: readonly CategoryItem[]
  readonly chosenCategory?: string
  /** Besides the form, and beneath it. */
  readonly aside?: Child
  readonly beneath?: Child
}

export function formPage(page: FormPage): Framed {
  const { kind, id, tag, name, told, refusal, theirs, aside, beneath } = page
  const list = LISTS[kind.list]
  const path = `/admin/${kind.list}/${id ?? 'new'}`
  const title = id === null ? `New ${list.noun}` : name
  return {
    title,
    section: list.path,
    content: (
      <>
        <p class="back">
          <a href={list.path}>← {list.title}</a>
        </p>
        <div class="title">
          <h1 dir="auto">{title}</h1>
        </div>
        {told && <Notice>{told}</Notice>}
        {refusal && !theirs && <Notice kind="trouble">{refusal.reason}</Notice>}
        <Versions {...page} />
        <div class={aside ? 'halves' : 'narrow'}>
          <form
            id="form"
            class="card form"
            action={path}
            method="post"
            hx-post={path}
            hx-target="#content"
            hx-select="#content"
            hx-swap="outerHTML show:window:top"
            hx-sync="#content:queue"
            // A product keeps the category that it is created in, so none can be chosen while it is being created.
            {...(page.categories && { 'hx-disabled-elt': 'find select' })}
          >
            {/* After "Back", browsers fill a form only if its first fields have the names that they had. With scripts, it keeps its tag. */}
            <noscript>
              <input type="hidden" name={`version ${tag}`} />
            </noscript>
            <input type="hidden" name="tag" value={tag} />
            {kind.fields
              .filter(field => field.kind !== 'flag')
              .map(field => (
                <FormField field={field} page={page} />
              ))}
            <Flags {...page} />
            <CategoryField {...page} />
            <div class="buttons">
              <button type="submit" class="primary">
                {theirs ? 'Save my version' : id === null ? 'Create' : 'Save'}
              </button>
              <a class="button" href={id === null ? list.path : path}>
                {theirs ? 'Take their version' : 'Cancel'}
              </a>
            </div>
          </form>
          {aside}
        </div>
        {beneath}
        <Removal {...page} />
      </>
    ),
  }
}

function FormField({ field, page }: { readonly field: Field; readonly page: FormPage }) {
  const { name, label, kind, hint, isBounded } = field
  const text = page.texts[name] ?? ''
  const problem = page.refusal?.fields[name]
  const isNew = page.id === null
  const id = `field-${name}`
  const described = [...(problem ? [`${id}-problem`] : []), ...(hint ? [`${id}-hint`] : [])].join(' ')
  const shared = {
    id,
    name,
    ...(problem && { 'aria-invalid': 'true' as const }),
    ...(described && { 'aria-describedby': described }),
  }
  return (
    <div class="field">
      <label for={id}>{kind === 'password' && isNew ? 'Password' : label}</label>
      {kind === 'text' ? (
        <textarea {...shared} rows={8} dir="auto">
          {`\n${text}`}
        </textarea>
      ) : (
        <input
          {...shared}
          value={text}
          type={kind === 'password' ? 'password' : 'text'}
          {...(kind === 'password' && { autocomplete: 'new-password' })}
          {...(kind === 'price' && { inputmode: 'decimal' as const, required: true })}
          {...(kind === 'line' && { dir: 'auto' as const })}
          {...(isBounded && { minlength: 3, maxlength: BOUNDED_MAX_UNITS, required: true })}
        />
      )}
      {problem && (
        <p id={`${id}-problem`} class="problem">
          {problem}
        </p>
      )}
      {hint && !(kind === 'password' && isNew) && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
    </div>
  )
}

function Flags({ kind: { fields }, texts }: FormPage) {
  const flags = fields.filter(({ kind }) => kind === 'flag')
  if (flags.length === 0) return null
  return (
    <fieldset>
      <legend>Flags</legend>
      {flags.map(({ name, label }) => (
        <label>
          <input id={`field-${name}`} type="checkbox" name={name} value="on" checked={(texts[name] ?? '') !== ''} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  )
}

function CategoryField({ categories, chosenCategory = '' }: FormPage) {
  if (!categories) return null
  return (
    <div class="field">
      <label for="field-category">Category</label>
      <select id="field-category" name="category">
        <option value="">None</option>
        {categories.map(({ id, name }) => (
          <option value={String(id)} selected={chosenCategory === String(id)}>
            {name}
          </option>
        ))}
      </select>
      <p class="hint">A product keeps the category that it is created in.</p>
    </div>
  )
}

/** Both versions of a resource that somebody else has changed meanwhile. */
function Versions({ kind, texts: mine, theirs }: FormPage) {
  if (!theirs) return null
  const fields = kind.fields.filter(
    ({ name, kind }) => kind !== 'password' && mine[name] !== inField(theirs[name] ?? '', kind),
  )
  return (
    <section class="card conflict" role="alert" aria-labelledby="conflict">
      <h2 id="conflict">Somebody else has changed this meanwhile</h2>
      {fields.length === 0 ? (
        <p>Both versions are the same now.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Theirs, saved</th>
              <th scope="col">Yours, not saved</th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ name, label, kind }) => (
              <tr>
                <th scope="row">{label}</th>
                <td dir="auto">{kind === 'flag' ? (theirs[name] ? 'yes' : 'no') : theirs[name]}</td>
                <td dir="auto">{kind === 'flag' ? (mine[name] ? 'yes' : 'no') : mine[name]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="quiet">The form has your version. Nothing was saved yet.</p>
    </section>
  )
}

const LOST_WITH = {
  products: 'Its reviews are deleted with it.',
  categories: 'Its products stay, without a category.',
  users: 'All reviews by this user are deleted, too.',
}

function Removal({ kind: { list }, id, tag, name, aside }: FormPage) {
  if (id === null) return null
  const { path, noun } = LISTS[list]
  const item = itemText(list, id, tag)
  return (
    <section class={`card removal ${aside ? '' : 'narrow'}`} data-item={item} data-name={name} data-list={path}>
      <p>
        Delete this {noun}. <span class="quiet">{LOST_WITH[list]}</span>
      </p>
      <DeleteButton item={item} />
    </section>
  )
}
