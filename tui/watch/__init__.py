"""Rules about connectors, the incidents that follow from them, and notices about incidents."""
