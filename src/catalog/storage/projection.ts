import type { Member, StoredResource, Values } from './resource.ts'

/** Stands for all specified members. */
export const ALL_MEMBERS = '*'

/** The words that choose members, in the order of a response. */
export function memberWords<Row extends Values>({ members, array, furtherMembers }: StoredResource<Row>): string[] {
  return [ALL_MEMBERS, 'id', ...members.map(nameOf), ...(array ? [array.table] : []), ...furtherMembers.map(nameOf)]
}

/** The resource with these of its members only. */
export function projected<Row extends Values>(
  resource: StoredResource<Row>,
  names: ReadonlySet<string>,
): StoredResource<Row> {
  const hasAll = names.has(ALL_MEMBERS)
  const { members, array, furtherMembers } = resource
  return {
    ...resource,
    chosen: { hasId: hasAll || names.has('id') },
    members: members.filter(member => hasAll || names.has(nameOf(member))),
    array: array && (hasAll || names.has(array.table)) ? array : null,
    furtherMembers: furtherMembers.filter(member => names.has(nameOf(member))),
  }
}

function nameOf<Row extends Values>(member: Member<Row>): string {
  return typeof member === 'string' ? member : member.name
}
