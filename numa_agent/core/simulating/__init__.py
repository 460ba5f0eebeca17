"""What would become of pods on a machine: simulated by the agent's own decisions."""

from numa_agent.core.simulating.baselines import KubeletStatic as KubeletStatic
from numa_agent.core.simulating.baselines import first_fit as first_fit
from numa_agent.core.simulating.checking import ManifestError as ManifestError
from numa_agent.core.simulating.granting import asking_for as asking_for
from numa_agent.core.simulating.granting import offered_as as offered_as
from numa_agent.core.simulating.granting import renamed as renamed
from numa_agent.core.simulating.manifests import pods_of as pods_of
from numa_agent.core.simulating.saying import simulation_json as simulation_json
from numa_agent.core.simulating.simulate import simulate as simulate
from numa_agent.core.simulating.values import Compared as Compared
from numa_agent.core.simulating.values import Fate as Fate
from numa_agent.core.simulating.values import Placed as Placed
from numa_agent.core.simulating.values import Simulation as Simulation
from numa_agent.core.simulating.values import Start as Start
