// Chooses the time range of all figures of a page: a length up to now, a calendar month, or from one time to another. It is shown
// only on pages that use it.

import { useState } from 'preact/hooks'
import { type Address, address, clock, DEFAULT_RANGE, period, RANGES, setQuery } from './address'
import { ApiError } from './api'
import { comparison } from './comparison'
import { COMPARISONS } from './earlier-period'
import { Dialog, Field, Form } from './parts/form'
import { Icon } from './parts/icon'
import { texts } from './texts'
import { fieldText, shortZoneName, timeOfField, zone, zoneName } from './zone'

const words = texts.timeControl

/** Pages whose figures or lists have a time range, and the tabs of them that have it. */
const PAGES_WITH_TIMES: Readonly<Record<string, (address: Address) => boolean>> = {
  overview: () => true,
  requests: () => true,
  usage: () => true,
  models: () => true,
  upstreams: ({ query }) => query.part !== 'reconciliation',
  accounts: ({ id }) => id !== null && id !== 'new',
  settings: ({ query }) => query.part === 'audit',
  home: () => true,
  activity: ({ query }) => (query.show ?? 'requests') === 'requests',
}
/** Pages whose figures are compared with those of an earlier period. */
const COMPARED = ['overview', 'usage']
/** Pages of these names that have no time range for holders of keys. */
const WITHOUT_TIMES_FOR_HOLDERS = ['models']

interface Range {
  range: string | null
  since: string | null
  until: string | null
}

/** The calendar month in UTC, as in statements, a number of months before the current one. */
function monthBefore(months: number, now: number): Range {
  const at = new Date(now)
  const begin = (back: number) =>
    new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - back, 1)).toISOString()
  return { range: null, since: begin(months), until: months === 0 ? null : begin(months - 1) }
}

export function TimeControl({ page, kind }: { page: string; kind: 'admin' | 'key' }) {
  const [isChoosing, setChoosing] = useState(false)
  const isHolder = kind === 'key' && WITHOUT_TIMES_FOR_HOLDERS.includes(page)
  if (isHolder || !PAGES_WITH_TIMES[page]?.(address.value)) return null
  const { word, since, until } = period.value
  const months = { month: monthBefore(0, clock.value), 'last-month': monthBefore(1, clock.value) }
  const isOf = (range: Range) => word === null && range.since === since && range.until === until
  const value = word ?? Object.entries(months).find(([, range]) => isOf(range))?.[0] ?? 'chosen'
  const change = (chosen: string) => {
    if (chosen === 'choose') setChoosing(true)
    else if (chosen === 'month' || chosen === 'last-month') setQuery({ ...months[chosen] })
    else setQuery({ range: chosen === DEFAULT_RANGE ? null : chosen, since: null, until: null })
  }
  return (
    <div class="time-control">
      <label>
        <span class="hidden">{texts.range}</span>
        <select
          value={value}
          onChange={(event) => {
            const { value: chosen } = event.currentTarget
            // Keeps the shown range until another one is entered.
            event.currentTarget.value = value
            change(chosen)
          }}
        >
          {value === 'chosen' && <option value="chosen">{words.fromTo(since, until)}</option>}
          {Object.keys(RANGES).map((each) => (
            <option value={each} key={each}>
              {texts.ranges[each]}
            </option>
          ))}
          <option value="month">{words.thisMonth}</option>
          <option value="last-month">{words.lastMonth}</option>
          <option value="choose">{words.choose}</option>
        </select>
      </label>
      {word !== DEFAULT_RANGE && (
        <button
          type="button"
          class="plain"
          aria-label={words.reset}
          title={words.reset}
          onClick={() => change(DEFAULT_RANGE)}
        >
          <Icon name="close" />
        </button>
      )}
      {kind === 'admin' && COMPARED.includes(page) && <CompareChoice />}
      {isChoosing && <RangeDialog close={() => setChoosing(false)} />}
    </div>
  )
}

function CompareChoice() {
  return (
    <label>
      <span class="hidden">{words.compare}</span>
      <select
        value={comparison()}
        onChange={({ currentTarget: { value } }) =>
          setQuery({ compare: value === COMPARISONS[0] ? null : value })
        }
      >
        {COMPARISONS.map((word) => (
          <option value={word} key={word}>
            {words.comparisons[word]}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Shows the zone of all times, and changes it. */
export function ZoneButton() {
  const isUtc = zone.value === 'utc'
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <button
      type="button"
      class="plain zone"
      title={words.timesIn[zone.value](own)}
      onClick={() => {
        zone.value = isUtc ? 'local' : 'utc'
      }}
    >
      {shortZoneName(new Date(clock.value))}
    </button>
  )
}

function RangeDialog({ close }: { close(): void }) {
  const { since, until } = period.value
  return (
    <Dialog title={words.title} close={close} closing={null}>
      <Form
        action={words.show}
        aside={
          <button type="button" class="plain" onClick={close}>
            {texts.cancel}
          </button>
        }
        submit={async ({ since: from = '', until: to = '' }) => {
          const begin = timeOfField(from).toISOString()
          const end = to === '' ? null : timeOfField(to).toISOString()
          if (end !== null && end <= begin) throw new ApiError(words.wrongOrder, 0, null, 'until')
          setQuery({ range: null, since: begin, until: end })
        }}
        onDone={close}
      >
        <Field
          name="since"
          title={words.from}
          type="datetime-local"
          value={fieldText(new Date(since))}
          isRequired
        />
        <Field
          name="until"
          title={words.to}
          type="datetime-local"
          value={until === null ? '' : fieldText(new Date(until))}
          hint={words.zone(zoneName())}
        />
      </Form>
    </Dialog>
  )
}
