// All German texts, of the form of the English ones. They are loaded only for readers of German.

import type { Texts } from '../texts'
import accounts from './german/accounts'
import activity from './german/activity'
import allow from './german/allow'
import connect from './german/connect'
import explore from './german/explore'
import frame from './german/frame'
import home from './german/home'
import keys from './german/keys'
import models from './german/models'
import overview from './german/overview'
import ownModels from './german/own-models'
import playground from './german/playground'
import requests from './german/requests'
import results from './german/results'
import codes from './german/selling/codes'
import events from './german/selling/events'
import plans from './german/selling/plans'
import reconciliation from './german/selling/reconciliation'
import retention from './german/selling/retention'
import sessions from './german/selling/sessions'
import statements from './german/selling/statements'
import settings from './german/settings'
import spend from './german/spend'
import spenders from './german/spenders'
import tasks from './german/tasks'
import upstreams from './german/upstreams'
import usage from './german/usage'

export const german = {
  texts: {
    ...frame,
    allow,
    overview,
    accounts,
    keys,
    spenders,
    explore,
    requests,
    usage,
    tasks,
    results,
    models,
    upstreams,
    settings,
    spend,
  },
  sellingTexts: { plans, codes, statements, reconciliation, retention, events, sessions },
  keyTexts: { home, activity, models: ownModels, connect, playground },
} satisfies Texts
