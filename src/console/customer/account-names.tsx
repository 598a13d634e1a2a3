// Names of accounts that are offered while one is typed. They are only offered: any other text can be typed, and the server judges it.

import type { InputHTMLAttributes, VNode } from 'preact'
import { useId, useState } from 'preact/hooks'
import { call, type RowOf } from '../api'
import { useQuery } from '../query'
import { texts } from '../texts'

/** Accounts that are offered at a time. */
const MAX_OFFERED = 8

export interface Offer {
  /** The typed text; null while nothing is offered. */
  typed: string | null
  /** For the field in which a name is typed. */
  input: Omit<InputHTMLAttributes<HTMLInputElement>, 'type'>
  /** The list of names, to be placed behind the label of the field. */
  names: VNode
}

/** Offers accounts with the typed text in their name or display name, while the field has the focus. */
export function useAccountNames(): Offer {
  const id = useId()
  const [typed, setTyped] = useState<string | null>(null)
  const [field, setField] = useState<HTMLInputElement>()
  const [marked, setMarked] = useState(-1)
  const { data } = useQuery(['accounts like', typed], async (signal) => {
    if (typed === null) return []
    const query = { text: typed.trim() || undefined, limit: MAX_OFFERED }
    return (await call('listCustomers', { query, signal })).data
  })
  // A complete name needs no offers, which would only cover the page below the field.
  const isWhole = data?.some(({ account }) => account === typed?.trim())
  const offered = typed === null || isWhole ? [] : (data ?? [])
  const begin = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    setField(currentTarget)
    setTyped(currentTarget.value)
    setMarked(-1)
  }
  const choose = (name: string) => {
    if (!field) return
    field.value = name
    field.dispatchEvent(new Event('change', { bubbles: true }))
    setTyped(null)
  }
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    const name = offered[marked]?.account
    if (step !== 0 && offered.length > 0) setMarked((marked + step + offered.length) % offered.length)
    else if (event.key === 'Enter' && name !== undefined) choose(name)
    else return
    event.preventDefault()
  }
  return {
    typed,
    input: {
      role: 'combobox',
      'aria-autocomplete': 'list',
      'aria-expanded': offered.length > 0,
      'aria-controls': id,
      'aria-activedescendant': offered[marked] && `${id}-${marked}`,
      onFocus: begin,
      onInput: begin,
      onBlur: () => setTyped(null),
      onKeyDown: press,
    },
    names: <Names id={id} offered={offered} marked={marked} choose={choose} />,
  }
}

interface NamesProps {
  id: string
  offered: readonly RowOf<'listCustomers'>[]
  /** The position of the name that Enter chooses. */
  marked: number
  choose(name: string): void
}

function Names({ id, offered, marked, choose }: NamesProps) {
  return (
    <div id={id} role="listbox" aria-label={texts.accounts.title} hidden={offered.length === 0}>
      {offered.map(({ account, display_name }, index) => (
        <div
          id={`${id}-${index}`}
          key={account}
          role="option"
          tabIndex={-1}
          aria-selected={index === marked}
          onMouseDown={(event) => {
            // The field keeps the focus.
            event.preventDefault()
            choose(account)
          }}
        >
          {account} <span class="quiet">{display_name}</span>
        </div>
      ))}
    </div>
  )
}
