// Filters of a list. Each is in the address, so that a filtered list can be sent to a colleague.

import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { address, setQuery } from '../address'
import { type Offer, useAccountNames } from '../customer/account-names'
import { texts } from '../texts'

export interface Filter {
  /** The name in the address and in the query. */
  name: string
  title: string
  /** Words to choose from; absent for free text. */
  options?: readonly (readonly [value: string, title: string])[]
  /** An example of free text. Default: "all". */
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
      {filters.map((filter) =>
        filter.name === 'account' ? (
          <AccountFilter key={filter.name} {...filter} />
        ) : (
          <FilterField key={filter.name} {...filter} />
        ),
      )}
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

function AccountFilter(filter: Filter) {
  const offer = useAccountNames()
  return (
    <div class="offering">
      <FilterField {...filter} offer={offer} />
      {offer.names}
    </div>
  )
}

interface FilterFieldProps extends Filter {
  /** Names that are offered where text is typed. */
  offer?: Offer
}

function FilterField({ name, title, options, example, offer }: FilterFieldProps) {
  const { query } = address.value
  return (
    <label>
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
          {...({
            type: 'search',
            value: offer?.typed ?? query[name] ?? '',
            placeholder: example ?? texts.all,
            size: 10,
            spellcheck: false,
            autocomplete: 'off',
            onChange: (event) => setQuery({ [name]: event.currentTarget.value.trim() }),
            ...offer?.input,
          } as InputHTMLAttributes<HTMLInputElement>)}
        />
      )}
    </label>
  )
}

/** The options, plus the value in the address if it is not among them. */
function withChosen(options: NonNullable<Filter['options']>, chosen: string | undefined) {
  return !chosen || options.some(([value]) => value === chosen)
    ? options
    : [...options, [chosen, chosen] as const]
}
