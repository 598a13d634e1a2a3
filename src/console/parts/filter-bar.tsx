// Filters of a list. Each is in the address, so that a filtered list can be sent to a colleague.

import type { ComponentChildren } from 'preact'
import { address, setQuery } from '../address'
import { texts } from '../texts'

export interface Filter {
  /** The name in the address and in the query. */
  name: string
  title: string
  /** Words to choose from; absent for free text. */
  options?: readonly (readonly [value: string, title: string])[]
  /** An example of free text; absent: "all". */
  example?: string
}

export function FilterBar({
  filters,
  children,
}: {
  filters: readonly Filter[]
  children?: ComponentChildren
}) {
  const { query } = address.value
  const isSet = filters.some(({ name }) => query[name])
  return (
    <search class="filters" aria-label={texts.filters}>
      {filters.map(({ name, title, options, example }) => (
        <label key={name}>
          <span>{title}</span>
          {options ? (
            <select
              value={query[name] ?? ''}
              onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
            >
              <option value="">{texts.all}</option>
              {withChosen(options, query[name]).map(([value, text]) => (
                <option value={value} key={value}>
                  {text}
                </option>
              ))}
            </select>
          ) : (
            <input
              type="search"
              value={query[name] ?? ''}
              placeholder={example ?? texts.all}
              size={10}
              spellcheck={false}
              autocomplete="off"
              onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
            />
          )}
        </label>
      ))}
      {isSet && (
        <button
          type="button"
          class="plain"
          onClick={() => setQuery(Object.fromEntries(filters.map(({ name }) => [name, null])))}
        >
          {texts.clearFilters}
        </button>
      )}
      <div class="filters-end">{children}</div>
    </search>
  )
}

/** The options, plus the value in the address if it is not among them. */
function withChosen(options: NonNullable<Filter['options']>, chosen: string | undefined) {
  return !chosen || options.some(([value]) => value === chosen)
    ? options
    : [...options, [chosen, chosen] as const]
}
