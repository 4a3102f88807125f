"""300 sites: the sample size of each mechanism relative to the best one."""

import warner

compared = warner.mechanisms(300, epsilon=2)
compared.save_plot("mechanisms.png", title="Telemetry with 300 sites: sample size of each mechanism")
