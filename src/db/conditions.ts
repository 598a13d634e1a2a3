// The conditions of a list, each included only if requested: no database uses an index for `name = $1 or $1 is null`, so the list
// would read every row.

import type { Value } from './db'

export class Conditions {
  readonly parameters: Value[] = []
  private readonly texts: string[]

  constructor(...always: string[]) {
    this.texts = [...always]
  }

  /** Adds a condition with a value instead of its `?`, unless the value is absent. */
  where(condition: string, value: Value | undefined): this {
    if (value !== undefined) this.texts.push(condition.replace('?', this.place(value)))
    return this
  }

  /** The next placeholder in the statement: `$3`. */
  place(value: Value): string {
    return `$${this.parameters.push(value)}`
  }

  /** The clause of the statement; empty without conditions. */
  get sql(): string {
    return this.texts.length > 0 ? `where ${this.texts.join(' and ')}` : ''
  }
}
