//! Dynamic filters of joins.

use datafusion::physical_plan::displayable;

use super::preaggregates::store;
use crate::open_session;

#[tokio::test]
async fn joins_of_joins_keep_their_dynamic_filters() {
    let store = store().await;
    let context = open_session(&store).await.unwrap();
    let sql = "SELECT r.line, r.runtime_ns, g.kind FROM records AS r JOIN graphs AS g ON r.graph_id = g.graph_id JOIN (SELECT graph_id FROM graphs WHERE graph_id % 5 = 3) AS s ON s.graph_id = r.graph_id";
    let frame = context.sql(sql).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let plan = displayable(plan.as_ref()).indent(false).to_string();
    let most = plan
        .lines()
        .map(|line| line.matches("DynamicFilter").count());
    assert_eq!(most.max(), Some(2), "{plan}");
}
