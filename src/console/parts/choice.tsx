// A choice that always has a value, stored in the address: a list, or tabs of a page.

import { setQuery } from '../address'

interface ChoiceProps<Value extends string> {
  title: string
  /** The name in the address. */
  name: string
  value: string
  options: readonly Value[]
  /** The word of an option; by default the option itself. */
  show?(value: Value): string
  /** Another choice that is reset when this one changes. */
  resets?: string
}

export function Choice<Value extends string>({
  title,
  name,
  value,
  options,
  show = (each) => each,
  resets,
}: ChoiceProps<Value>) {
  return (
    <label>
      <span>{title}</span>
      <select
        value={value}
        onChange={(event) =>
          setQuery({ [name]: event.currentTarget.value, ...(resets && { [resets]: null }) })
        }
      >
        {options.map((each) => (
          <option value={each} key={each}>
            {show(each)}
          </option>
        ))}
      </select>
    </label>
  )
}

interface TabsProps<Part extends string> {
  /** The name of the list, for screen readers. */
  label: string
  parts: readonly Part[]
  part: Part
  titles: Readonly<Record<Part, string>>
}

export function Tabs<Part extends string>({ label, parts, part, titles }: TabsProps<Part>) {
  return (
    <nav class="tabs" aria-label={label}>
      {parts.map((each) => (
        <button
          type="button"
          key={each}
          aria-current={each === part ? 'page' : undefined}
          onClick={() => setQuery({ part: each, sort: null })}
        >
          {titles[each]}
        </button>
      ))}
    </nav>
  )
}
