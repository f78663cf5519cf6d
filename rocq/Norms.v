(* Facts of textbooks that bounds rest on: the inequality of Cauchy and Schwarz, and |A B| <= |A| |B| for the Frobenius norm. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets reals.
From Attention Require Import Functions Rules Calculus Matrices.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Norms.
Variable R : realType.
Implicit Types (f g : seq nat -> R) (A B : matrix R).

Lemma total_add ns f g : total ns (fun x => f x + g x) = total ns f + total ns g.
Proof. by elim: ns f g => [|n ns IH] f g //=; rewrite -big_split; apply: eq_bigr => x _; exact: IH. Qed.
Lemma total_ge0 ns f : (forall x, 0 <= f x) -> 0 <= total ns f.
Proof. by elim: ns f => [|n ns IH] f f0 //=; apply: sumr_ge0 => x _; exact: IH. Qed.
Lemma total_le ns f g : (forall x, f x <= g x) -> total ns f <= total ns g.
Proof. by elim: ns f g => [|n ns IH] f g fg //=; apply: ler_sum => x _; exact: IH. Qed.

Theorem cauchy_schwarz ns f g :
  total ns (fun x => f x * g x) ^+ 2 <= total ns (fun x => f x ^+ 2) * total ns (fun x => g x ^+ 2).
Proof.
set S := total ns _; set F := total ns _; set G := total ns _.
have one x : total ns (fun y => (f x * g y - f y * g x) ^+ 2) = G * f x ^+ 2 + (- (S *+ 2) * (f x * g x) + F * g x ^+ 2).
  rewrite (_ : (fun y => _) = fun y => f x ^+ 2 * g y ^+ 2 + (- (f x * g x *+ 2) * (f y * g y) + g x ^+ 2 * f y ^+ 2)).
    rewrite !total_add !total_scale [G * _]mulrC [F * _]mulrC; congr (_ + (_ + _)).
    by rewrite !mulNr !mulrnAl [S * _]mulrC.
  apply/funext => y; rewrite sqrrB !exprMn addrA [f y ^+ 2 * _]mulrC; congr (_ + _ + _).
  by rewrite mulNr mulrnAl; congr (- (_ *+ 2)); rewrite mulrACA [RHS]mulrACA [g x * _]mulrC.
have := total_ge0 ns (f := fun x => total ns (fun y => (f x * g y - f y * g x) ^+ 2)).
rewrite (_ : total ns (fun x => _) = (F * G - S ^+ 2) *+ 2).
  move=> H; have {H} : 0 <= (F * G - S ^+ 2) *+ 2 by apply: H => x; apply: total_ge0 => y; exact: sqr_ge0.
  by rewrite pmulrn_lge0 // subr_ge0.
rewrite (_ : (fun x => _) = fun x => G * f x ^+ 2 + (- (S *+ 2) * (f x * g x) + F * g x ^+ 2)); last by apply/funext => x; exact: one.
rewrite !total_add !total_scale -/F -/G -/S mulrnBl [G * F]mulrC mulNr mulrnAl -expr2 [in LHS]addrCA [in LHS]addrC.
by rewrite mulr2n.
Qed.

Definition frobenius2 A : R := total (rows A) (fun i => total (columns A) (fun j => entry A i j ^+ 2)).
Theorem frobenius_product A B : columns A = rows B -> frobenius2 (product A B) <= frobenius2 A * frobenius2 B.
Proof.
move=> E; rewrite /frobenius2 /= -E.
have swap ns ms (h : seq nat -> seq nat -> R) : total ns (fun i => total ms (h i)) = total ms (fun j => total ns (h^~ j)).
  elim: ns h => [|n ns IH] h //=; rewrite (eq_bigr _ (fun x _ => IH (fun i => h (x :: i)))).
  elim: n => [|n IHn]; first by rewrite big_geq // -[LHS](mul0r (total ms (fun=> 0))) -total_scale; congr total; apply/funext => j; rewrite big_geq // mul0r.
  rewrite big_nat_recr //= IHn -total_add; congr total; apply/funext => j; by rewrite big_nat_recr.
rewrite (swap (rows A) (columns B)) [X in _ <= _ * X]swap -total_scale; apply: total_le => j.
rewrite [X in _ <= X]mulrC -total_scale; apply: total_le => i.
rewrite [X in _ <= X]mulrC; exact: cauchy_schwarz.
Qed.
End Norms.
