// Times and durations. A time is shown as how long ago it is, or in the chosen zone if that is more than a day; on hover, exactly
// and in UTC. A log shows the exact time instead.

import { clock } from '../address'
import { decimalText, language } from '../language'
import { texts } from '../texts'
import { shortTimeText, timeFormat } from '../zone'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const near = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' })
const withYear = timeFormat({ day: 'numeric', month: 'short', year: 'numeric' })
const toTheMillisecond = timeFormat({
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'short',
  hourCycle: 'h23',
})
const exact = timeFormat({ dateStyle: 'medium', timeStyle: 'long', hourCycle: 'h23' })

export function Time({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="quiet">–</span>
  return (
    <time dateTime={at} title={`${exact.format(new Date(at))}\n${at}`}>
      {timeText(at)}
    </time>
  )
}

/** The time of a row of a log, to the millisecond and with its zone. Its tooltip shows how long ago it was. */
export function LogTime({ at }: { at: string }) {
  return (
    <time class="number" dateTime={at} title={`${timeText(at)}\n${at}`}>
      {toTheMillisecond.format(new Date(at))}
    </time>
  )
}

export function timeText(at: string): string {
  const time = new Date(at)
  const passed = clock.value - time.getTime()
  const length = Math.abs(passed)
  if (passed > -MINUTE && passed < 5 * SECOND) return texts.now
  if (length < MINUTE) return near.format(-Math.round(passed / SECOND), 'second')
  if (length < HOUR) return near.format(-Math.round(passed / MINUTE), 'minute')
  if (length < DAY) return near.format(-Math.round(passed / HOUR), 'hour')
  return time.getFullYear() === new Date(clock.value).getFullYear()
    ? shortTimeText(time)
    : withYear.format(time)
}

/** Milliseconds as people read them: `412 ms`, `1.8 s`, `4 min 20 s`. */
export function durationText(milliseconds: number): string {
  if (milliseconds < SECOND) return `${Math.round(milliseconds)} ms`
  if (milliseconds < MINUTE)
    return `${decimalText(milliseconds / SECOND, milliseconds < 10 * SECOND ? 2 : 1)} s`
  const minutes = Math.floor(milliseconds / MINUTE)
  if (minutes < 60) return `${minutes} min ${Math.round((milliseconds % MINUTE) / SECOND)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function Duration({ ms }: { ms: number | null | undefined }) {
  return ms === null || ms === undefined ? (
    <span class="quiet">–</span>
  ) : (
    <span class="number">{durationText(ms)}</span>
  )
}
