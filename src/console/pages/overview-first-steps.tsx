// The first steps of a new gateway, one line each, with whether the step is done and a link to do it. A sandbox can be filled with
// sample requests instead.

import { useState } from 'preact/hooks'
import { hrefOf } from '../address'
import { call, hasRole, type Reply } from '../api'
import { Action } from '../parts/form'
import { Icon } from '../parts/icon'
import { texts } from '../texts'

const words = texts.overview.firstSteps

interface FirstStepsProps {
  steps: NonNullable<Reply<'getOverview'>['first_steps']>
}

/** The page where each step is done. */
const STEPS = [
  ['upstream', hrefOf('upstreams')],
  ['model', hrefOf('models')],
  ['customer', hrefOf('accounts', {}, 'new')],
  ['request', hrefOf('playground')],
  ['backup', hrefOf('settings', { part: 'backups' })],
] as const

export function FirstSteps({ steps }: FirstStepsProps) {
  const [isFilling, setFilling] = useState(false)
  const fill = async () => {
    setFilling(true)
    await call('fillSandbox').finally(() => setFilling(false))
  }
  return (
    <section class="part">
      <h2>{words.title}</h2>
      <ul class="steps">
        {STEPS.map(([step, href]) => {
          const { text, action } = words.steps[step]
          return (
            <li key={step} class={steps[step] ? 'done' : ''}>
              <Icon name={steps[step] ? 'good' : 'wait'} />
              <span>
                {text} {steps[step] && <span class="quiet">{words.done}</span>}
              </span>
              {!steps[step] && (
                <a class="button line-action" href={href}>
                  {action}
                </a>
              )}
            </li>
          )
        })}
      </ul>
      {(steps.can_fill || isFilling) && hasRole('owner') && (
        <p class="actions">
          <Action title={words.fill} act={fill} />
          <span class="quiet">{words.fillMeans}</span>
        </p>
      )}
    </section>
  )
}
