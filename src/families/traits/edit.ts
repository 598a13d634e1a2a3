// An edit of a finished request as a value: the traits passes return one, which is applied to the caller's own text, or to a
// translated request. It must never change anything that it does not name.

import type { Edit } from '../../lib/json/json'
import { isObject } from '../../lib/objects'

type Fields = Record<string, unknown>

/** The request after an edit; the same request if there is nothing to edit. */
export function edited<Request extends object>(
  request: Request,
  { set = {}, drop = [], inside = {} }: Edit,
): Request {
  const sets = Object.entries(set)
  const insides = Object.entries(inside)
  if (sets.length === 0 && insides.length === 0 && !drop.some((field) => field in request)) return request
  const result = { ...request } as Fields
  for (const field of drop) delete result[field]
  for (const [field, json] of sets) result[field] = JSON.parse(json)
  for (const [field, edit] of insides) {
    const value = result[field]
    result[field] = edited<Fields>(isObject(value) ? value : {}, edit)
  }
  return result as Request
}

/** An edit with all members, to which a family and a pass add. */
export interface OpenEdit extends Edit {
  set: Record<string, string>
  drop: string[]
  inside: Record<string, Edit>
}

export function openEdit(drop: readonly string[] = []): OpenEdit {
  return { set: {}, drop: drop.slice(), inside: {} }
}

/** Adds the members of an edit to another, overriding it. */
export function addEdit(
  to: { set: Record<string, string>; drop: string[]; inside?: Record<string, Edit> },
  from: OpenEdit,
) {
  Object.assign(to.set, from.set)
  for (const field of from.drop) to.drop.push(field)
  if (Object.keys(from.inside).length > 0) to.inside = { ...to.inside, ...from.inside }
}
