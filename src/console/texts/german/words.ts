// German words for names that the gateway's API uses in its answers. A name that is not listed is shown as it is.

import { named, numberText } from '../../language'

const periods = named({ day: 'Tag', week: 'Woche', month: 'Monat', hour: 'Stunde' })

/** `pro Tag`. */
export function perPeriod(period: string): string {
  return period === '' ? '' : `pro ${periods[period] ?? period}`
}

/** `heute`, `diese Woche`. */
export function inPeriod(period: string): string {
  const current = named({ day: 'heute', week: 'in dieser Woche', month: 'in diesem Monat' })
  return current[period] ?? perPeriod(period)
}

/** A count with its noun: `1 Anfrage`, `2.000 Anfragen`. */
export function counted(count: number, one: string, several: string): string {
  return `${numberText(count)} ${count === 1 ? one : several}`
}
