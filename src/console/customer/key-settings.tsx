// What a key may do, as fields of a form and as the API takes them.

import type { Reply } from '../api'
import { Field } from '../parts/form'
import { texts } from '../texts'

const words = texts.keys

/** Limits as the API takes them: null for an empty field. */
export function keySettingsOf(values: Readonly<Record<string, string>>) {
  const number = (name: string) => (values[name] ? Number(values[name]) : null)
  const models = (values.models ?? '').split(/[\s,]+/).filter((each) => each !== '')
  const period = values.budget_period as 'day' | 'week' | 'month' | ''
  return {
    models: models.length > 0 ? models : null,
    requests_per_minute: number('requests_per_minute'),
    tokens_per_minute: number('tokens_per_minute'),
    concurrency: number('concurrency'),
    budget_usd: values.budget_usd || null,
    budget_period: period || null,
    expires_at: values.expires_at ? `${values.expires_at}Z` : null,
  }
}

export function KeySettings({ of }: { of?: Reply<'getKey'> }) {
  return (
    <div class="fields">
      <Field
        name="models"
        title={words.models}
        hint={words.modelsHint}
        value={of?.models?.join(', ') ?? ''}
      />
      <Field
        name="requests_per_minute"
        title={words.requestsPerMinute}
        type="number"
        value={of?.requests_per_minute ?? ''}
      />
      <Field
        name="tokens_per_minute"
        title={words.tokensPerMinute}
        type="number"
        value={of?.tokens_per_minute ?? ''}
      />
      <Field name="concurrency" title={words.concurrency} type="number" value={of?.concurrency ?? ''} />
      <Field name="budget_usd" title={words.budget} value={of?.budget_usd ?? ''} />
      <Field
        name="budget_period"
        title={words.budgetPeriod}
        value={of?.budget_period ?? ''}
        options={[
          ['', '–'],
          ['day', words.day],
          ['week', words.week],
          ['month', words.month],
        ]}
      />
      <Field
        name="expires_at"
        title={words.expiresUtc}
        type="datetime-local"
        value={of?.expires_at ? of.expires_at.slice(0, 16) : ''}
      />
    </div>
  )
}
